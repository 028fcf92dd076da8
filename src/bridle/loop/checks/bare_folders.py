"""Folders without a file for git, and special files such as a fifo: checks see them, but git stores neither.

Those from before the run, and those that the user adds while no driver runs, belong to the user's environment.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from bridle.loop.checks import recorded_names
from bridle.loop.protection.newly_ignored import is_made_by_tool
from bridle.loop.working_copy.run_context import RunContext

KIND = "folders"


def record(context: RunContext, ignored: Collection[str], *, since: float = 0.0) -> None:
    """Record those that were changed since that time as the user's."""
    recorded_names.add(context, KIND, _find(context.folder, ignored), since=since)


def find_new(context: RunContext, ignored: Collection[str]) -> list[str]:
    """Return the outermost folders, with a slash at the end, and the special files that appeared during the run.

    `ignored` are the ignored files and folders.
    """
    new = frozenset(_find(context.folder, ignored)) - (recorded_names.read(context, KIND) or frozenset())
    return sorted(
        name
        for name in new
        if not any(name != above and above.endswith("/") and name.startswith(above) for above in new)
    )


def _find(top: Path, ignored: Collection[str]) -> list[str]:
    """Return the folders in which git has nothing to store, with a slash at the end, and special files."""
    ignored = frozenset(ignored)
    special: list[str] = []
    seen: list[str] = []
    stored = {""}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        entries = _entries(top, folder)
        if folder and any(entry.name == ".git" for entry in entries):
            _add_with_parents(stored, folder)  # a nested repository
            continue
        for entry in entries:
            is_file = entry.is_file(follow_symlinks=False) or entry.is_symlink()
            if is_file and folder in stored:
                continue  # most files of a large tree
            name = f"{folder}{entry.name}"
            if is_made_by_tool(name) or name == ".git":
                continue
            if is_file:
                if name not in ignored:
                    _add_with_parents(stored, folder)
            elif not entry.is_dir(follow_symlinks=False):
                special.append(name)
            elif f"{name}/" not in ignored:
                seen.append(f"{name}/")
                waiting.append(f"{name}/")
    return [*(folder for folder in seen if folder not in stored), *special]


def _add_with_parents(stored: set[str], folder: str) -> None:
    while folder not in stored:
        stored.add(folder)
        folder = _parent(folder)


def _parent(name: str) -> str:
    above = os.path.dirname(name.rstrip("/"))
    return f"{above}/" if above else ""


def _entries(top: Path, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(top / folder) as entries:
            return list(entries)
    except OSError:
        return []  # gone, or not readable
