"""The budget of the person's workspace, for agents that work in a worktree, which has a budget of its own.

What is left of the one bounds the other, and what an agent spent is counted in both, once.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import CountedUsage, read_note, write_note
from bridle.run import budget


def fill(context: RunContext) -> None:
    """Before an agent begins: what is spent in the person's workspace is spent in the worktree, too."""
    if context.repository is None:
        return
    shared, own = budget.read(context.repository), budget.read(context.workspace)
    cost_usd, runs = shared.max_cost_usd, shared.max_iterations
    bounded = replace(
        own,
        max_cost_usd=None if cost_usd is None else own.total_cost_usd + max(0.0, cost_usd - shared.total_cost_usd),
        max_iterations=None if runs is None else own.iterations + max(0, runs - shared.iterations),
    )
    if bounded != own:
        budget.write(context.workspace, bounded)


def empty(context: RunContext) -> None:
    """After it has ended: count what the worktree has spent and the person's workspace does not know of."""
    if context.repository is None:
        return
    own, note = budget.read(context.workspace), read_note(context.folder)
    cost_usd = own.total_cost_usd - note.counted.cost_usd
    runs = own.iterations - note.counted.runs
    if runs <= 0:
        return
    with budget.hold_lock(context.repository):
        shared = budget.read(context.repository)
        spent = round(shared.total_cost_usd + cost_usd, 6)
        budget.write(context.repository, replace(shared, total_cost_usd=spent, iterations=shared.iterations + runs))
    counted = CountedUsage(cost_usd=own.total_cost_usd, runs=own.iterations)
    write_note(context.folder, msgspec.structs.replace(note, counted=counted))
