"""What agents of the loop have spent in worktrees, counted before an agent of another command starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


async def count_worktrees(workspace: Path, say: Callable[[str], None]) -> None:
    """Add it to the budget of the workspace. Without worktrees nothing of the loop is imported."""
    from bridle.workspace.worktree import AGENTS_FOLDER

    if not (workspace / AGENTS_FOLDER).is_dir():
        return
    from bridle.loop.performers import shared_budget

    await shared_budget.count_worktrees(workspace, say)
