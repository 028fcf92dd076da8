"""A function is named by a verb: `_decode`, not `_decoded`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "bridle"
# Participles that say what was done to a value, and not what the function does.
PARTICIPLES = frozenset(
    [
        "clipped",
        "compiled",
        "converted",
        "corrected",
        "decoded",
        "encoded",
        "escaped",
        "expanded",
        "indented",
        "joined",
        "masked",
        "normalized",
        "parsed",
        "recovered",
        "renumbered",
        "replaced",
        "scaled",
        "shortened",
        "styled",
        "tagged",
        "unquoted",
        "unrolled",
        "unwrapped",
    ]
)


def named_by_participle(source: str) -> list[str]:
    """Return the functions of a module that are named by a participle alone; properties are values."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [node.name for node in functions if node.name.strip("_") in PARTICIPLES and not _is_property(node)]


def _is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def test_no_function_is_named_by_a_participle() -> None:
    names = {str(path): named_by_participle(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    assert {path: found for path, found in names.items() if found} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def _decoded(data): ...", ["_decoded"]),
        ("class A:\n    async def parsed(self): ...", ["parsed"]),
        ("class A:\n    @property\n    def parsed(self): ...", []),
        ("def decode(data): ...", []),
        ("def parsed_lines(data): ...", []),
    ],
)
def test_a_function_that_is_named_by_a_participle_is_found(source: str, names: list[str]) -> None:
    assert named_by_participle(source) == names
