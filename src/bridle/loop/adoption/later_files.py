"""Files that were written after all agents of a killed driver had ended: they are the user's."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.merge import overlay
from bridle.workspace.snapshot import Snapshot


async def tree_without_later(
    context: RunContext, now: Snapshot, snapshots: Sequence[str], head: str, ended_at: float | None
) -> str:
    """Return the current tree with files that were written later as in the newest of these snapshots, or in `head`."""
    if ended_at is None:
        return now.tree
    known = [found for name in reversed(snapshots) if (found := await snapshot.find(context.git, name)) is not None]
    base = known[0].tree if known else await context.git.tree_of(head)
    written = [
        path
        for path in await snapshot.changes(context.git, base, now.tree)
        if is_later(context.folder / path, ended_at)
    ]
    return await overlay(context.git, now.tree, base, written)


def is_later(path: os.PathLike[str], moment: float) -> bool:
    """Whether a file was written after a moment."""
    try:
        return changed_at(path) > moment
    except OSError:
        return False


def changed_at(path: os.PathLike[str]) -> float:
    """Return when a file was written; an agent can set the one time, and only the kernel the other."""
    status = os.lstat(path)
    return min(status.st_mtime, status.st_ctime)
