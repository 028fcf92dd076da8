"""The budget of the user's workspace, shared with agents in worktrees, each of which has its own budget file.

What is left of the shared budget limits the worktree's, and what an agent spends is counted once in both.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from bridle.loop.user_messages import UserMessageReader
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import CountedUsage, in_worktree, read_note, write_note
from bridle.run import budget
from bridle.run.workspace_lock import count_killed_run


def limit_worktree(context: RunContext) -> None:
    """Limit the worktree's budget to what is left of the shared one, before an agent starts."""
    if context.repository is None:
        return
    shared, own = budget.read(context.repository), budget.read(context.workspace)
    cost_usd, runs = shared.max_cost_usd, shared.max_iterations
    limited = replace(
        own,
        max_cost_usd=None if cost_usd is None else own.known_cost_usd + max(0.0, cost_usd - shared.known_cost_usd),
        max_iterations=None if runs is None else own.iterations + max(0, runs - shared.iterations),
    )
    if limited != own:
        budget.write(context.workspace, limited)


async def count_killed_agents(context: RunContext) -> None:
    """Count what agents of a killed driver have spent in the working copies of a run; `context` is the user's."""
    contexts = [context]
    if context.settings.uses_worktrees:
        workers = range(1, context.settings.parallel + 1)
        contexts += [in_worktree(context, worker) for worker in (None, *workers)]
    for each in contexts:
        await count_killed_run(each.workspace, context.say)
        add_spent(each)


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
    """Add what the worktree has spent to the shared budget, after an agent has ended."""
    if context.repository is None:
        return
    own, note = budget.read(context.workspace), read_note(context.folder)
    cost_usd = own.known_cost_usd - note.counted.cost_usd
    runs = own.iterations - note.counted.runs
    if runs <= 0:
        return
    with budget.hold_lock(context.repository):
        shared = budget.read(context.repository)
        spent = replace(
            shared,
            known_cost_usd=round(shared.known_cost_usd + cost_usd, 6),
            iterations=shared.iterations + runs,
            has_unknown_cost=shared.has_unknown_cost or own.has_unknown_cost,
        )
        budget.write(context.repository, spent)
    counted = CountedUsage(cost_usd=own.known_cost_usd, runs=own.iterations)
    write_note(context.folder, msgspec.structs.replace(note, counted=counted))
