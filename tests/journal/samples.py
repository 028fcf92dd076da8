"""The run folders of tests/journals, as copies that a test may write to."""

from __future__ import annotations

import shutil
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "journals" / "babysitter-0.0.187"
NAMES = sorted(path.name for path in FOLDER.iterdir())


def sample(name: str, folder: Path) -> Path:
    """A copy of a sample, in that folder."""
    return Path(shutil.copytree(FOLDER / name, folder / name))


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
