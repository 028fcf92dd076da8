"""What the user has beside the commits in a working copy, and checks may use: recorded before agents can add to it."""

from __future__ import annotations

from bridle.loop.checks import bare_folders, ignored_files
from bridle.loop.working_copy.run_context import RunContext


async def record(context: RunContext, *, since: float = 0.0) -> None:
    """Record what was written since that time as the user's."""
    ignored = await ignored_files.list_ignored(context)
    ignored_files.record(context, ignored, since=since)
    bare_folders.record(context, ignored, since=since)


async def add_of_user(context: RunContext, *, since: float) -> None:
    """Add what the user has written since the last driver ended."""
    if ignored_files.is_recorded(context):  # else a run of an earlier version, which records nothing
        await record(context, since=since)
