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


def pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.name))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = {ROOT / name for name in re.findall(r"`((?:src|tests|docs|tools|bench|requirements)/[\w./-]+)`", text)}
    linked = {page.parent / name for name in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text)}
    assert [str(path) for path in sorted(named | linked) if not path.exists()] == []


def test_the_names_after_a_file_are_in_it() -> None:
    """`src/bridle/loop/process/ralph.py` (`_wait_for_an_agent` sleeps) names a function of that file."""
    text = CHANGES.read_text(encoding="utf-8")
    notes = [
        (file, name)
        for file, note in re.findall(r"`(src/[\w/]+\.py)` \(([^)]*)\)", text)
        for name in re.findall(r"`(\w+)`", note)
    ]
    assert notes
    wrong = [(file, name) for file, name in notes if name not in (ROOT / file).read_text(encoding="utf-8")]
    assert wrong == []


def test_the_names_in_how_to_add_an_event_exist() -> None:
    text = (ROOT / "docs" / "how-to-add-an-event.md").read_text(encoding="utf-8")
    source = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "wire").rglob("*.py"))
    named = sorted(set(re.findall(r"`(\w+)`", text)))
    assert named
    assert [name for name in named if not re.search(rf"\b{name}\b", source)] == []


def test_thirty_changes_are_described() -> None:
    rows = re.findall(r"^\| (?!change \||---)", CHANGES.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= 30
