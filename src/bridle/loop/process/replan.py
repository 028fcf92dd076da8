"""A new plan for what is not done, which the user sent with `bridle resume --replan`. A part of the loop's process.

Tasks are matched by their titles. What is done stays done, also if the new plan does not have it.
"""

from __future__ import annotations

from bridle.loop.plan.model import Plan
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.task_state import ACCEPTED, RunState, TaskState, Verdict
from bridle.loop.process.workers import Workers

_NOT_IN_PLAN = "the new plan does not have it"


def replace_plan(plan: Plan, state: RunState) -> None:
    """Take the tasks of a new plan, in its order; those that are done keep their place before it."""
    known = dict(state.tasks)
    titles = {task.title for task in plan.tasks}
    others = [task for task in known.values() if task.title not in titles]
    state.dropped = [task.title for task in others if task.verdict not in ACCEPTED]
    new = [task.title for task in plan.tasks if task.title not in known]
    state.tasks.clear()
    state.tasks.update((task.title, task) for task in others)
    for planned in plan.tasks:
        task = known.get(planned.title) or TaskState(planned.title)
        state.tasks[planned.title] = task
        if task.verdict not in ACCEPTED:
            task.needs, task.priority, task.was_checked_first = planned.needs, planned.priority or 0, False
            if task.verdict != Verdict.NEEDS_YOU:
                task.restore_tries()
    for title in state.dropped:
        state.tasks[title].verdict, state.tasks[title].reason = Verdict.BLOCKED, _NOT_IN_PLAN
    counts = [f"{len(names)} {word}" for names, word in ((new, "new"), (state.dropped, "dropped")) if names]
    state.found.append("a new plan replaces that of the run" + (f" ({', '.join(counts)})" if counts else ""))


async def drop_tasks(state: RunState, workers: Workers, requests: EffectRequests) -> None:
    """Remove tasks that the new plan does not have, once nothing works on them; their work is kept under a ref."""
    busy = {worker.task for worker in workers.busy}
    for title in [title for title in state.dropped if title not in busy]:
        state.dropped.remove(title)
        task = state.tasks[title]
        if task.verdict in ACCEPTED:
            continue
        if task.has_work and not workers.is_parallel:
            task.reason = _NOT_IN_PLAN
            await requests.undo_work(task)
            state.found.append(f"{title!r} is not in the new plan: {task.reason}")
        workers.release(task)
        del state.tasks[title]
