"""Ignored files that appeared during a run: checks see them, but no commit contains them.

Those from before the run, such as dependencies and local settings, are recorded when it begins. They belong to the
user's environment, and so do files that the user adds while no driver runs and those that tools generate. Every other
one is an agent's for the whole run, also in later tasks, until it is gone or committed.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from bridle.ground import disk
from bridle.loop.protection.newly_ignored import is_generated
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.own_output import output_files

# More files below one ignored folder are data that a program has made.
FOLDER_LIMIT = 1_000


async def record(context: RunContext, *, since: float = 0.0) -> None:
    """Record the ignored files that were written since that time as those of the user's environment."""
    found = [name for name in _files(context.folder, await _list(context)) if _ctime(context.folder, name) >= since]
    disk.make_private_folder(context.run_folder)
    disk.write_json_atomic(_path(context), sorted({*(_read(context) or ()), *found}))


async def add_of_user(context: RunContext, *, since: float) -> None:
    """Add the ignored files that the user has written since the last driver ended."""
    if _read(context) is not None:  # else a run of an earlier version, which records none
        await record(context, since=since)


async def find_new(context: RunContext, listed: Iterable[str] | None, *, before: float) -> list[str]:
    """Return the ignored files that appeared during the run and were written before that time.

    `listed` are the ignored files and folders, where the caller knows them. Files that a check has written are left
    out by the time: it makes them again.
    """
    known = _read(context)
    if known is None:
        return []
    names = [name for name in (await _list(context) if listed is None else listed) if not is_generated(name)]
    names = [name for name in names if not any(f"{above}/" in known for above in (name.rstrip("/"), *_above(name)))]
    own = output_files(context.folder)
    return [name for name in _files(context.folder, names) if name not in own and _is_new(context, known, name, before)]


def _is_new(context: RunContext, known: Collection[str], name: str, before: float) -> bool:
    if name.endswith("/") and any(one.startswith(name) for one in known):
        return False  # some of it is the user's
    return name not in known and 0 < _ctime(context.folder, name) < before


def _above(name: str) -> Iterator[str]:
    """Yield the folders that a file or folder is in."""
    while name := os.path.dirname(name.rstrip("/")):
        yield name


async def _list(context: RunContext) -> list[str]:
    listed = await context.git.names("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return [name for name in listed if not is_generated(name)]


def _files(folder: Path, names: Iterable[str]) -> Iterator[str]:
    """Yield files, and instead of a folder the files in it; a folder with too many is yielded itself."""
    for name in names:
        below = list(_walk(folder, name)) if name.endswith("/") else [name]
        yield from below if len(below) <= FOLDER_LIMIT else [name]


def _walk(folder: Path, name: str) -> Iterator[str]:
    count = 0
    for root, folders, files in os.walk(folder / name):
        folders[:] = [one for one in folders if not is_generated(os.path.relpath(os.path.join(root, one), folder))]
        for one in files:
            path = os.path.relpath(os.path.join(root, one), folder)
            if not is_generated(path):
                yield path
                count += 1
        if count > FOLDER_LIMIT:
            return


def _ctime(folder: Path, name: str) -> float:
    """Return when a file was last written, created or renamed; 0 if it does not exist."""
    try:
        return os.lstat(folder / name).st_ctime
    except OSError:
        return 0.0


def _path(context: RunContext) -> Path:
    worker = "" if context.worker is None else f"-{context.worker}"
    return context.run_folder / f"bridle-ignored{worker}.json"


def _read(context: RunContext) -> frozenset[str] | None:
    """Return the recorded files; None in runs of earlier versions, which have no record."""
    own = disk.read_json(_path(context))
    if context.worker is not None and not isinstance(own, list):
        has_record = _path(context).with_name("bridle-ignored.json").exists()
        return frozenset() if has_record else None  # a fresh worktree without a setup has no ignored files
    return frozenset(own) if isinstance(own, list) else None
