"""The budget of the person's workspace, for agents that work in a worktree, which has a budget of its own.

What is left of the one bounds the other, and what an agent spent is counted in both, once.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import CountedUsage, read_note, write_note
from bridle.run import budget


def fill(bench: RunContext) -> None:
    """Before an agent begins: what is spent in the person's workspace is spent in the worktree, too."""
    if bench.repository is None:
        return
    shared, own = budget.read(bench.repository), budget.read(bench.workspace)
    cost_usd, runs = shared.max_cost_usd, shared.max_iterations
    bounded = replace(
        own,
        max_cost_usd=None if cost_usd is None else own.total_cost_usd + max(0.0, cost_usd - shared.total_cost_usd),
        max_iterations=None if runs is None else own.iterations + max(0, runs - shared.iterations),
    )
    if bounded != own:
        budget.write(bench.workspace, bounded)


def empty(bench: RunContext) -> None:
    """After it has ended: count what the worktree has spent and the person's workspace does not know of."""
    if bench.repository is None:
        return
    own, note = budget.read(bench.workspace), read_note(bench.folder)
    cost_usd = own.total_cost_usd - note.counted.cost_usd
    runs = own.iterations - note.counted.runs
    if runs <= 0:
        return
    with budget.hold_lock(bench.repository):
        shared = budget.read(bench.repository)
        spent = round(shared.total_cost_usd + cost_usd, 6)
        budget.write(bench.repository, replace(shared, total_cost_usd=spent, iterations=shared.iterations + runs))
    counted = CountedUsage(cost_usd=own.total_cost_usd, runs=own.iterations)
    write_note(bench.folder, msgspec.structs.replace(note, counted=counted))
