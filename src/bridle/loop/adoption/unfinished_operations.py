"""Git operations that are not finished when a driver begins: those of the user are refused by name."""

from __future__ import annotations

from bridle.loop.adoption.later_files import is_later
from bridle.loop.working_copy import left_state
from bridle.loop.working_copy.left_state import LeftState
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.repair import git_leftovers


def refuse_users(context: RunContext, left: LeftState | None, ended_at: float | None, then: str) -> None:
    """Raise UsageError for an operation of git that the user has not finished."""
    for operation, path in left_state.unfinished_operations(context.folder).items():
        is_users = operation not in left.operations if left is not None else is_later(path, ended_at or 0.0)
        if is_users:
            raise git_leftovers.refusal(operation, context.folder, then)


async def refuse_unfinished(context: RunContext, left: LeftState | None, ended_at: float | None) -> None:
    """Raise UsageError for an operation of git that the user has not finished; end those of killed agents."""
    git, then = context.git, f", and then run: bridle resume {context.run}"
    refuse_users(context, left, ended_at, then)
    if left is None and left_state.unfinished_operations(context.folder):
        await git_leftovers.end_operations(git)
    if unmerged := await git_leftovers.conflicts(git):
        if left is not None or is_later(await git.index_path(), ended_at or 0.0):
            raise git_leftovers.conflict_refusal(unmerged, context.folder, then)
        await git_leftovers.end_operations(git)
