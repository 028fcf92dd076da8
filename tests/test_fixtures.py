"""Helpers of tests lie in fixtures: no test file is imported by another file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("tests", "bench", "tools", "src")


def imported_modules(path: Path) -> Iterator[str]:
    """Yield the dotted name of each import, wherever it is in the file."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_test_file_is_imported_by_another_file() -> None:
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in (ROOT / "tests").rglob("test_*.py")
    }
    assert files
    imports = [
        f"{path.relative_to(ROOT)} imports {name}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name in imported_modules(path)
        if name in files
    ]
    assert not imports, "\n".join(imports)
