"""The user's working copy when a run begins: a snapshot for `bridle undo`, untracked files included.

Files of the user that are in no commit, and that the user adds or changes between two drivers, are added to it.
"""

from __future__ import annotations

from collections.abc import Collection

from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import marks, snapshot
from bridle.workspace.merge import overlay
from bridle.workspace.snapshot import Snapshot


async def record(context: RunContext) -> None:
    """Record the working copy before any agent or check runs; a second attempt keeps the first record."""
    if context.repository is None and await find(context) is None:
        await snapshot.take(context.git, name=_name(context.run), why="before the run")


async def find(context: RunContext) -> Snapshot | None:
    """Return the record; None for a run of an earlier version."""
    return await snapshot.find(context.git, _name(context.run))


async def add_changes(context: RunContext, tree: str, paths: Collection[str]) -> None:
    """Record these files of the user as they are in a tree, or as removed."""
    start = await find(context)
    if start is None:
        return
    changed = await overlay(context.git, start.tree, tree, paths)
    if changed != start.tree:
        await snapshot.replace_tree(context.git, start, changed)


async def add_marks(context: RunContext, before: str, after: str) -> None:
    """Record that the user has set and cleared the marks that differ between two trees of them."""
    start = await find(context)
    if start is None or before == after:
        return
    await snapshot.write(
        context.git,
        start.name,
        tree=start.tree,
        index_tree=start.index_tree,
        head=start.head,
        marked=await marks.carry(context.git, start.marks, before, after),
        why="before the run",
    )


def _name(run: str) -> str:
    return f"{run.lower()}-start"
