"""Ignored files that appeared during a run: checks see them, but no commit contains them.

Those from before the run, such as dependencies and local settings, are recorded when it begins. They belong to the
user's environment, and so do files that the user adds while no driver runs and those that tools generate. Every other
one may be an agent's for the whole run, also in later tasks, until it is gone or committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from bridle.loop.checks import recorded_names
from bridle.loop.protection import baseline
from bridle.loop.protection.newly_ignored import hidden_since, is_generated, is_installed, is_made_by_tool
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.own_output import output_files

# More files below one ignored folder are data that a program has made.
FOLDER_LIMIT = 1_000
# Written manually, or copied by a setup: a check may need it.
SETTINGS = ".env"
KIND = "ignored"


async def list_ignored(context: RunContext) -> list[str]:
    """Return all ignored files and folders."""
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    return await context.git.names(*words)


def record(context: RunContext, listed: Iterable[str], *, since: float = 0.0) -> None:
    """Record the ignored files that were written since that time as those of the user's environment."""
    names = [name for name in listed if not is_made_by_tool(name)]
    output = [name for name in names if _is_output(name)]
    files = _files(context.folder, (name for name in names if name not in output), _is_output)
    recorded_names.add(context, KIND, (*output, *files), since=since)


def of_user(context: RunContext) -> frozenset[str]:
    """Return the recorded ones."""
    return _read(context) or frozenset()


def is_recorded(context: RunContext) -> bool:
    """Return whether this run records them: one of an earlier version does not."""
    return _read(context) is not None


async def find_new(context: RunContext, listed: Iterable[str]) -> list[str]:
    """Return which of the listed ignored files and folders, and of the files in them, appeared during the run.

    Those that a check writes are among them: an agent may have made them first.
    """
    known, start = _read(context), baseline.find(context)
    if known is None or start is None:
        return []
    known = known.union(start.untracked)  # an agent's rule may hide them now
    names = [name for name in listed if not is_made_by_tool(name)]
    names = [name for name in names if not any(f"{above}/" in known for above in (name.rstrip("/"), *_above(name)))]
    by_agents = frozenset(await hidden_since(context, start.work, names, but_by=start.untracked))
    mine = [name for name in names if name not in by_agents and not _is_output(name)]
    agents = [name for name in names if name in by_agents and not is_installed(context.folder / name)]
    found = [*_files(context.folder, mine, _is_output), *_files(context.folder, agents, is_made_by_tool)]
    own, runs = output_files(context.folder), _folder_of_runs(context)
    return [name for name in found if name not in own and not _overlap(name, runs) and _is_new(context, known, name)]


def _folder_of_runs(context: RunContext) -> str:
    """Return the folder of runs as a path in the working copy, or out of it: the driver itself writes to it."""
    return f"{os.path.relpath(os.path.realpath(context.run_folder.parent), os.path.realpath(context.folder))}/"


def _overlap(name: str, folder: str) -> bool:
    """Return whether a file or folder is in this folder, or contains it."""
    return name.startswith(folder) or (name.endswith("/") and folder.startswith(name))


def _is_output(name: str) -> bool:
    return is_generated(name) and os.path.basename(name) != SETTINGS


def _is_new(context: RunContext, known: Collection[str], name: str) -> bool:
    if name.endswith("/") and any(one.startswith(name) for one in known):
        return False  # some of it is the user's
    return name not in known and os.path.lexists(context.folder / name)


def _above(name: str) -> Iterator[str]:
    """Yield the folders that a file or folder is in."""
    while name := os.path.dirname(name.rstrip("/")):
        yield name


def _files(folder: Path, names: Iterable[str], is_left: Callable[[str], bool]) -> Iterator[str]:
    """Yield files, and instead of a folder the files in it; a folder with too many is yielded itself.

    `is_left`: which files and folders in them are left out.
    """
    for name in names:
        below = list(_walk(folder, name, is_left)) if name.endswith("/") else [name]
        yield from below if len(below) <= FOLDER_LIMIT else [name]


def _walk(folder: Path, name: str, is_left: Callable[[str], bool]) -> Iterator[str]:
    count = 0
    for root, folders, files in os.walk(folder / name):
        folders[:] = [one for one in folders if not is_left(os.path.relpath(os.path.join(root, one), folder))]
        for one in files:
            path = os.path.relpath(os.path.join(root, one), folder)
            if not is_left(path):
                yield path
                count += 1
        if count > FOLDER_LIMIT:
            return


def _read(context: RunContext) -> frozenset[str] | None:
    """Return the recorded files; None in runs of earlier versions, which have no record."""
    own = recorded_names.read(context, KIND)
    if own is None and context.worker is not None and recorded_names.is_recorded_by_run(context, KIND):
        return frozenset()  # a fresh worktree without a setup has no ignored files
    return own
