"""The pages that map the tree are true: every package is listed, and every file that they name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "bridle"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
CHANGES = ROOT / "docs" / "where-to-change.md"
# Folders of code that is copied elsewhere, not imported as a package.
NOT_PACKAGES = ("hosts/install/plugin",)


def listed_packages() -> set[str]:
    text = ARCHITECTURE.read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+(?:/\w+)+)` \|", text, re.MULTILINE))


def test_the_architecture_lists_every_package() -> None:
    inits = PACKAGE.rglob("__init__.py")
    packages = {str(path.parent.relative_to(PACKAGE)) for path in inits if path.parent.parent != PACKAGE.parent}
    inner = {name for name in packages if "/" in name and not name.startswith(NOT_PACKAGES)}
    assert listed_packages() == inner


@pytest.mark.parametrize("page", ["where-to-change.md", "how-to-add-an-event.md", "architecture.md", "glossary.md"])
def test_every_file_that_a_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:src|tests|docs|tools)/[\w./-]+)`", text))
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_thirty_changes_are_described() -> None:
    rows = re.findall(r"^\| (?!change \||---)", CHANGES.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 30
