"""The pages of the documentation, which are installed with the package."""

from __future__ import annotations

from pathlib import Path

from bridle import errors


def pages_folder() -> Path:
    """Return the folder of the pages: in the package, or beside its source."""
    package = Path(errors.__file__).parent
    installed = package / "docs"
    return installed if installed.is_dir() else package.parent.parent / "docs"


def find_pages() -> dict[str, Path]:
    """Return the pages by topic."""
    return {path.stem: path for path in sorted(pages_folder().glob("*.md"))}


def title_of(text: str) -> str:
    """Return the title of a page."""
    first = next((line for line in text.splitlines() if line.startswith("# ")), "# ")
    return first.removeprefix("# ").strip()
