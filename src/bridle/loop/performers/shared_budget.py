"""The budget of the user's workspace, shared with agents in worktrees, each of which has its own budget file.

What is left of the shared budget limits the worktree's, and what an agent spends is counted once in both.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bridle.errors import DiskError
from bridle.ground.git_folder import find_common_folder
from bridle.loop.user_messages import UserMessageReader
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import CountedUsage, read_note, write_note
from bridle.run import budget
from bridle.run.workspace_lock import count_killed_run
from bridle.workspace.worktree import AGENTS_FOLDER

Say = Callable[[str], None]


def limit_worktree(context: RunContext) -> str | None:
    """Limit the worktree's budget to what is left of the shared one; return why no agent may start, if none may."""
    if context.repository is None:
        return None
    shared, own = budget.read(context.repository), budget.read(context.workspace)
    cost_usd, runs = shared.max_cost_usd, shared.max_iterations
    limited = replace(
        own,
        max_cost_usd=None if cost_usd is None else own.known_cost_usd + max(0.0, cost_usd - shared.known_cost_usd),
        max_iterations=None if runs is None else own.iterations + max(0, runs - shared.iterations),
    )
    if limited != own:
        budget.write(context.workspace, limited)
    return shared.exhausted


async def count_killed_agents(workspace: Path, say: Say) -> None:
    """Count what agents of a killed Bridle have spent in the user's workspace and in all its worktrees."""
    await count_killed_run(workspace, say)
    await count_worktrees(workspace, say)


async def count_worktrees(workspace: Path, say: Say) -> None:
    """Add what agents have spent in the worktrees of the user's workspace to its budget, of whichever run they are."""
    try:
        folders = sorted((workspace.resolve() / AGENTS_FOLDER).iterdir())
    except OSError:
        return  # there are none
    common = find_common_folder(workspace)
    for folder in folders:
        # Without its own link a worktree belongs to the repository that it was copied from, or to none.
        if not (folder / ".git").is_file() or find_common_folder(folder) != common:
            continue
        try:
            await count_killed_run(folder, say)
            _add_spent(folder, workspace)
        except DiskError as error:
            say(f"what agents have spent in {folder} is not counted: {error.message}")


def name_limits(context: RunContext, messages: UserMessageReader) -> None:
    """Name the limits in force in the user's budget file."""
    limits = messages.limits_in_force(context.settings.limits)
    budget.name_run_limits(
        context.progress_folder,
        context.run,
        max_cost_usd=limits.max_cost_usd,
        max_iterations=limits.max_iterations,
    )


def add_spent(context: RunContext) -> None:
    """Add what the worktree has spent to the shared budget, after an agent has ended or was interrupted."""
    if context.repository is not None:
        _add_spent(context.workspace, context.repository)


def _add_spent(worktree: Path, workspace: Path) -> None:
    if not budget.budget_file(worktree).exists():
        return
    with budget.hold_lock(workspace):  # two may count the same worktree
        own, note = budget.read(worktree), read_note(worktree)
        cost_usd = own.known_cost_usd - note.counted.cost_usd
        runs = own.iterations - note.counted.runs
        if runs <= 0:
            return
        shared = budget.read(workspace)
        spent = replace(
            shared,
            known_cost_usd=round(shared.known_cost_usd + cost_usd, 6),
            iterations=shared.iterations + runs,
            has_unknown_cost=shared.has_unknown_cost or own.has_unknown_cost,
        )
        budget.write(workspace, spent)
        counted = CountedUsage(cost_usd=own.known_cost_usd, runs=own.iterations)
        with suppress(DiskError):  # the agent has destroyed the worktree, which is made again with a new budget
            write_note(worktree, msgspec.structs.replace(note, counted=counted))
