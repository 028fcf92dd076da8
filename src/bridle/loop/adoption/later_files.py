"""Files that were written, moved or copied here after all agents of a killed driver had ended: they are the user's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from bridle.journal.format import layout
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.merge import overlay
from bridle.workspace.snapshot import Snapshot


async def tree_without_later(
    context: RunContext, now: Snapshot, snapshots: Sequence[str], head: str, ended_at: float | None
) -> str:
    """Return the current tree with files that came later as in the newest of these snapshots, or in `head`."""
    if ended_at is None:
        return now.tree
    known = [found for name in reversed(snapshots) if (found := await snapshot.find(context.git, name)) is not None]
    base = known[0].tree if known else await context.git.tree_of(head)
    changed = await snapshot.changes(context.git, base, now.tree)
    written = [path for path in changed if is_later(context.folder / path, ended_at)]
    if known and len(written) < len(changed):
        written += await _brought_in(context, known[0], set(changed).difference(written), ended_at)
    return await overlay(context.git, now.tree, base, written)


async def _brought_in(context: RunContext, start: Snapshot, paths: Iterable[str], ended_at: float) -> list[str]:
    """Return the files that keep a time from before the iteration, and were moved or copied here after its end.

    `mv`, `cp -p` and `tar` keep that time. After `cp -a` or `chown -R` of everything, which the file of the run shows
    too, the kernel's time says nothing about a single file: then these are not distinguished from the agent's.
    """
    if os.lstat(context.run_folder / layout.RUN_FILE).st_ctime > ended_at:
        return []
    began = int(await context.git.text("log", "-1", "--format=%ct", start.commit))
    ours = set(context.moved_back)
    return [
        path
        for path in paths
        if ours.isdisjoint([path, *map(str, PurePath(path).parents)])
        and _is_brought_in(context.folder / path, began, ended_at)
    ]


def _is_brought_in(path: os.PathLike[str], began: float, ended_at: float) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return status.st_mtime < began and status.st_ctime > ended_at


def is_later(path: os.PathLike[str], moment: float) -> bool:
    """Return whether a file was written after a moment."""
    try:
        return changed_at(path) > moment
    except OSError:
        return False


def changed_at(path: os.PathLike[str]) -> float:
    """Return when a file was written; an agent can set the one time, and only the kernel the other."""
    status = os.lstat(path)
    return min(status.st_mtime, status.st_ctime)
