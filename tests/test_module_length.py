"""No module is too long to read: one above the limit holds a second noun."""

from __future__ import annotations

from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "bridle"
LIMIT_LINES = 400


def too_long(folder: Path) -> dict[str, int]:
    """Return the modules below a folder that have more lines than the limit."""
    lengths = {path: path.read_text(encoding="utf-8").count("\n") for path in folder.rglob("*.py")}
    return {str(path.relative_to(folder)): lines for path, lines in lengths.items() if lines > LIMIT_LINES}


def test_no_module_is_longer_than_the_limit() -> None:
    assert too_long(SOURCE) == {}


@pytest.mark.parametrize(("lines", "found"), [(LIMIT_LINES, {}), (LIMIT_LINES + 1, {"long.py": LIMIT_LINES + 1})])
def test_a_module_above_the_limit_is_found(tmp_path: Path, lines: int, found: dict[str, int]) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * lines)
    assert too_long(tmp_path) == found
