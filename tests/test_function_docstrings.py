"""The docstring of a function begins with what the function does; that of a property or a field names a value."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "bridle"
# The first words of a docstring that names a value.
OF_VALUES = frozenset(["A", "An", "How", "If", "The", "What", "When", "Where", "Whether", "Which", "Who", "Why"])

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_that_name_values(source: str) -> list[str]:
    """Return the functions of a module whose docstring does not begin with a verb; `__init__` describes arguments."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, Function)]
    return [
        node.name
        for node in functions
        if node.name != "__init__" and not _is_property(node) and _first_word(node) in OF_VALUES
    ]


def _is_property(node: Function) -> bool:
    return any(isinstance(each, ast.Name) and each.id == "property" for each in node.decorator_list)


def _first_word(node: Function) -> str:
    return (ast.get_docstring(node) or "").partition(" ")[0]


def test_the_docstrings_of_functions_begin_with_verbs() -> None:
    names = {str(path): functions_that_name_values(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    assert {path: found for path, found in names.items() if found} == {}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('def is_new():\n    """Whether it is new."""', ["is_new"]),
        ('async def reason():\n    """Why it failed."""', ["reason"]),
        ('class A:\n    @property\n    def name(self):\n        """The name."""', []),
        ('class A:\n    def __init__(self):\n        """The arguments."""', []),
        ('def is_new():\n    """Return whether it is new."""', []),
        ("def is_new(): ...", []),
    ],
)
def test_a_docstring_that_names_a_value_is_found(source: str, names: list[str]) -> None:
    assert functions_that_name_values(source) == names
