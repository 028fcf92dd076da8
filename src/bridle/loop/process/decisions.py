"""Every decision of the loop, as functions of what is known. Pure: no clock, no file, no agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bridle.loop.plan.model import Plan, Task
from bridle.loop.process.task_state import BLOCKED, GOOD, NEEDS_YOU, PENDING, RunState, TaskState

# As often as the same failing checks with the same diff say that an agent is going in circles.
STUCK_AFTER = 3
# Iterations in a row in which the agent died, its own retry included.
CRASHES = 2


def next_task(ledger: RunState, *, taken: Collection[str] = (), worker: int | None = None) -> TaskState | None:
    """The task to work on: one whose needs are met, by priority, then by the order of the plan.

    Tasks that are `taken` are left out, and so are those that another worker goes on with.
    """
    ready = [
        task
        for task in ledger.tasks.values()
        if task.is_open and task.title not in taken and task.worker in (None, worker) and _needs_met(task, ledger)
    ]
    return min(ready, key=lambda task: task.priority) if ready else None


def first_task(plan: Plan) -> Task:
    """The task of a plan that a run begins with."""
    books = {task.title: TaskState(task.title, tuple(task.needs), task.priority or 0) for task in plan.tasks}
    first = next_task(RunState(books))
    return next(task for task in plan.tasks if first is None or task.title == first.title)


def block(ledger: RunState) -> list[TaskState]:
    """Mark what can no longer be begun, since a task that it needs did not end well; gives back the newly marked."""
    marked: list[TaskState] = []
    for task in ledger.tasks.values():
        bad = next((need for need in task.needs if _is_lost(ledger.tasks.get(need))), None)
        if task.verdict == PENDING and bad is not None:
            task.verdict, task.reason = BLOCKED, f"it needs {bad!r}, which did not end well"
            marked.append(task)
    return marked + block(ledger) if marked else []


def unblock(ledger: RunState) -> None:
    """A task is tried again: what waited for it may be begun after all."""
    for task in ledger.tasks.values():
        if task.verdict == BLOCKED:
            task.verdict, task.reason = PENDING, ""
    block(ledger)


def signature(results: Sequence[Mapping[str, Any]], tree: str) -> tuple[str, ...]:
    """What tells one failure from another: which checks fail, and what the tree is."""
    failing = sorted(str(result.get("command")) for result in results if result.get("exit_code") != 0)
    return (tree, *failing)


def is_stuck(signatures: Sequence[tuple[str, ...]], *, after: int = STUCK_AFTER) -> bool:
    """Whether the last iterations failed in the same way and changed nothing."""
    last = list(signatures)[-after:]
    return len(last) == after and len(set(last)) == 1


def failed_of(results: Sequence[Mapping[str, Any]], whose: str) -> list[Mapping[str, Any]]:
    """The checks of one kind that failed: `task`, `guard`, or another task's title."""
    return [result for result in results if result.get("of") == whose and result.get("exit_code") != 0]


def broken_tasks(results: Sequence[Mapping[str, Any]]) -> list[str]:
    """The other tasks whose own checks fail now."""
    return sorted({str(one["of"]) for one in results if one["of"] not in ("task", "guard") and one["exit_code"] != 0})


def failure_text(results: Sequence[Mapping[str, Any]]) -> str:
    """What the next prompt is told about checks that failed."""
    parts = [
        f"$ {result['command']}\n(exit code {result['exit_code']})\n{result.get('output') or ''}".rstrip()
        for result in results
        if result.get("exit_code") != 0
    ]
    return "\n\n".join(parts)


def backoff_seconds(waits: int) -> float:
    """How long to wait for an endpoint that is overloaded: from five seconds, doubling to five minutes."""
    return min(5.0 * 2.0 ** min(waits, 10), 300.0)  # no float holds two to the power of any number


def _needs_met(task: TaskState, ledger: RunState) -> bool:
    return all(ledger.tasks[need].verdict in GOOD for need in task.needs if need in ledger.tasks)


def _is_lost(task: TaskState | None) -> bool:
    return task is not None and task.verdict not in GOOD and task.verdict not in (PENDING, NEEDS_YOU)
