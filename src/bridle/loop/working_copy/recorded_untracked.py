"""The user's untracked files, from the record of a run's baseline. Small, since `bridle status` imports it."""

from __future__ import annotations

from pathlib import Path

from bridle.ground import disk


def untracked_in(run_folder: Path) -> frozenset[str]:
    """Return the user's untracked files of a run, from its newest record; none where there is no record."""
    records = sorted(run_folder.glob("bridle-origin*.json"), key=lambda path: (len(path.name), path.name))
    value = disk.read_json(records[-1]) if records else None
    return frozenset(value["untracked"]) if isinstance(value, dict) else frozenset()
