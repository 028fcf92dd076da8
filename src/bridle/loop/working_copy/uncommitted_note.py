"""The note in a run's folder that its work is uncommitted in the user's files. Small: `bridle status` imports it."""

from __future__ import annotations

from pathlib import Path

from bridle.ground import disk

FILE = "bridle-no-commit.json"


def exists(run_folder: Path) -> bool:
    """Return whether the run has left its work uncommitted in the working copy."""
    return (run_folder / FILE).is_file()


def write(run_folder: Path, branch: str) -> None:
    disk.write_json_atomic(run_folder / FILE, {"branch": branch})


def remove(run_folder: Path) -> None:
    (run_folder / FILE).unlink(missing_ok=True)
