"""Folders without a file for git, and special files such as a fifo: checks see them, but git stores neither.

Those from before the run, and those that the user adds while no driver runs, belong to the user's environment.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path

from bridle.loop.checks import recorded_names
from bridle.loop.protection.newly_ignored import is_made_by_tool
from bridle.loop.protection.recorded.walk_files import Folder, list_folder
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
        try:
            entries = list_folder(top, f"{top}/{folder}".rstrip("/"))
        except OSError:
            continue  # gone, or not readable
        if folder and entries.is_repository:
            _add_with_parents(stored, folder)
            continue
        if folder not in stored and _has_stored_file(top, folder, entries, ignored):
            _add_with_parents(stored, folder)
        special += [name for one in entries.special if not is_made_by_tool(name := f"{folder}{one}")]
        for one in entries.folders:
            name = f"{folder}{one}"
            if not is_made_by_tool(name) and f"{name}/" not in ignored:
                seen.append(f"{name}/")
                waiting.append(f"{name}/")
    return [*(folder for folder in seen if folder not in stored), *special]


def _has_stored_file(top: Path, folder: str, entries: Folder, ignored: Collection[str]) -> bool:
    """Return whether git stores a file of a folder."""

    def has_one(names: Iterable[str]) -> bool:
        return any(name not in ignored and not is_made_by_tool(name) for name in (f"{folder}{one}" for one in names))

    return has_one(entries.files) or (entries.has_more_files and has_one(_files(top / folder)))


def _files(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_file(follow_symlinks=False) or entry.is_symlink()]
    except OSError:
        return []


def _add_with_parents(stored: set[str], folder: str) -> None:
    while folder not in stored:
        stored.add(folder)
        folder = _parent(folder)


def _parent(name: str) -> str:
    above = os.path.dirname(name.rstrip("/"))
    return f"{above}/" if above else ""
