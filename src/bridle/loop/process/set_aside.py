"""Roll back the work of a task that waits for an answer, so that it is not committed with another task."""

from __future__ import annotations

from bridle.loop.effect_results import WorkResult
from bridle.loop.process import decisions
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.task_state import FINAL, RunState, TaskState


async def others(task: TaskState, state: RunState, requests: EffectRequests) -> None:
    """Roll back the work of tasks that asked a question, before this task starts."""
    for other in state.tasks.values():
        if other is not task and other.has_work and other.verdict not in FINAL:
            await _set_aside(other, requests)


async def at_once(task: TaskState, work: WorkResult, state: RunState, requests: EffectRequests) -> None:
    """Roll back the work of a task that waits, if another can start now, as earlier versions did."""
    has_work = work.changed or task.tries > 0
    if has_work and decisions.next_task(state) is not None:
        await _set_aside(task, requests)


async def _set_aside(task: TaskState, requests: EffectRequests) -> None:
    task.has_work = False
    kept = await requests.roll_back(task, task.first_snapshot, "its agent asked a question, and other tasks continue")
    task.notes.append(
        f"Your work so far was set aside while your question waited. It is the tree of {kept}:"
        f" `git diff HEAD {kept}` shows it, `git checkout {kept} -- <files>` restores it."
    )
