"""The user's working copy when a run begins: a snapshot for `bridle undo`, untracked files included."""

from __future__ import annotations

from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.snapshot import Snapshot


async def record(context: RunContext) -> None:
    """Record the working copy before any agent or check runs; a second attempt keeps the first record."""
    if context.repository is None and await find(context) is None:
        await snapshot.take(context.git, name=_name(context.run), why="before the run")


async def find(context: RunContext) -> Snapshot | None:
    """Return the record; None for a run of an earlier version."""
    return await snapshot.find(context.git, _name(context.run))


def _name(run: str) -> str:
    return f"{run.lower()}-start"
