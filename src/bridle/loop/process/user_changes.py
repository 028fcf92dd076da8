"""What the process does with changes that the user made while no driver ran. A part of the loop's process."""

from __future__ import annotations

from bridle.loop.effect_results import UserChanges
from bridle.loop.process.required_checks import RequiredChecks
from bridle.loop.process.task_state import RunState, Usage, Verdict
from bridle.loop.process.workers import Workers


def adopt_user_changes(changes: UserChanges, state: RunState, workers: Workers, checks: RequiredChecks) -> None:
    """Continue from the user's newest commit; reopen tasks whose commits are gone.

    A task without a check of its own stays done, unless git has lost its commit: the user may have moved its work.

    Parallel workers may deliver the same changes: they are adopted once.
    """
    if changes.number <= state.changes_known:
        return
    state.changes_known = changes.number
    state.found += changes.lines
    workers.move_tip(changes.tip)
    for moved in changes.copies:
        workers.move_copy(moved)
    for task in state.tasks.values():
        task.checked_on = ""
    for title, commit in changes.commits.items():
        state.tasks[title].commit = commit
    for title in changes.gone:
        task = state.tasks[title]
        task.commit = None
        if checks.own(task) or title in changes.lost:
            task.verdict, task.reason, task.was_checked_first = Verdict.PENDING, "", False
            task.tries, task.verified = 0, Usage()
            task.signatures.clear()
