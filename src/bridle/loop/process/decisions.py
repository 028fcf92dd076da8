"""The decisions of the loop as functions of the run's state. Pure: no clock, no file, no agent."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from bridle.loop.effect_results import CheckResult
from bridle.loop.effects import OF_GUARD, OF_TASK
from bridle.loop.plan.model import Plan, Task
from bridle.loop.process.task_state import ACCEPTED, RunState, TaskState, Verdict

# As many iterations with the same failing checks and the same diff mean that an agent is going in circles.
STUCK_AFTER = 3
# Iterations in a row in which the agent died, its own retry included.
CRASHES = 2
# An agent sees the first failure of a shorter output at a glance.
LONG_OUTPUT_LINES = 60


def next_task(state: RunState, *, taken: Collection[str] = (), worker: int | None = None) -> TaskState | None:
    """Return the open task with the highest priority whose needs are met, in the order of the plan.

    Tasks that are `taken` are left out, and so are those that belong to another worker.
    """
    ready = [
        task
        for task in state.tasks.values()
        if task.is_open and task.title not in taken and task.worker in (None, worker) and _needs_met(task, state)
    ]
    return min(ready, key=lambda task: task.priority) if ready else None


def first_task(plan: Plan) -> Task:
    """Return the task that a run of this plan begins with."""
    first = next_task(RunState.of(plan))
    return next(task for task in plan.tasks if first is None or task.title == first.title)


def block(state: RunState) -> list[TaskState]:
    """Mark tasks as blocked that need a failed one; return the newly marked."""
    marked: list[TaskState] = []
    for task in state.tasks.values():
        failed = next((need for need in task.needs if _is_lost(state.tasks.get(need))), None)
        if task.verdict == Verdict.PENDING and failed is not None:
            task.verdict, task.reason = Verdict.BLOCKED, f"blocked: {failed!r} failed"
            marked.append(task)
    return marked + block(state) if marked else []


def describe_failures(state: RunState) -> str:
    """Return how many tasks failed and are blocked: `2 tasks failed, 1 blocked`."""
    lost = [task.verdict for task in state.tasks.values() if _is_lost(task)]
    failed = sum(verdict != Verdict.BLOCKED for verdict in lost)
    blocked = len(lost) - failed
    return f"{failed} {'task' if failed == 1 else 'tasks'} failed" + (f", {blocked} blocked" if blocked else "")


def unblock(state: RunState) -> None:
    """Reopen blocked tasks, since a failed one is tried again; block those that still need another failed one."""
    for task in state.tasks.values():
        if task.verdict == Verdict.BLOCKED:
            task.verdict, task.reason = Verdict.PENDING, ""
    block(state)


def signature(results: Iterable[CheckResult], tree: str) -> tuple[str, ...]:
    """Return what tells one failure from another: the tree and the failing checks."""
    return (tree, *sorted(result.command for result in results if not result.passed))


def is_stuck(signatures: Sequence[tuple[str, ...]], *, after: int = STUCK_AFTER) -> bool:
    """Return whether the last iterations failed in the same way and changed nothing."""
    last = list(signatures)[-after:]
    return len(last) == after and len(set(last)) == 1


def broken_tasks(results: Iterable[CheckResult]) -> list[str]:
    """Return the titles of other tasks whose checks fail now."""
    return sorted({result.owner for result in results if result.owner not in (OF_TASK, OF_GUARD) and not result.passed})


def failure_text(results: Iterable[CheckResult]) -> str:
    """Return the commands, exit codes and output of failed checks, for the next prompt.

    The first failure of a long output comes last: a limit cuts the beginning.
    """
    failed = [result for result in results if not result.passed]
    parts = [f"$ {result.command}\n(exit code {result.exit_code})\n{result.output}".rstrip() for result in failed]
    parts += [
        f"$ {result.command}\n(exit code {result.exit_code}; the first failure, and the summary)\n{result.excerpt}"
        for result in failed
        if result.output.count("\n") > LONG_OUTPUT_LINES and result.excerpt
    ]
    return "\n\n".join(parts)


def backoff_seconds(waits: int) -> float:
    """Return how long to wait for an overloaded endpoint: five seconds, doubling up to five minutes."""
    return min(5.0 * 2.0 ** min(waits, 10), 300.0)  # a large exponent would overflow


def _needs_met(task: TaskState, state: RunState) -> bool:
    return all(state.tasks[need].verdict in ACCEPTED for need in task.needs if need in state.tasks)


def _is_lost(task: TaskState | None) -> bool:
    return task is not None and task.verdict not in (*ACCEPTED, Verdict.PENDING, Verdict.NEEDS_YOU)
