"""Which checks of the plan a task has to pass. Pure: a part of the loop's process."""

from __future__ import annotations

from bridle.loop.effects import OF_GUARD, OF_TASK, Check
from bridle.loop.plan.model import Plan
from bridle.loop.process.task_state import ACCEPTED, RunState, TaskState, Verdict
from bridle.loop.process.workers import Workers


class RequiredChecks:
    """The checks of a frozen plan."""

    def __init__(self, plan: Plan, state: RunState, workers: Workers) -> None:
        self._commands = {task.title: task.checks for task in plan.tasks}
        self._guard = tuple(Check(command=command, owner=OF_GUARD) for command in plan.guard)
        self._state, self._workers = state, workers
        self._texts = _texts(plan)

    def replace(self, plan: Plan) -> None:
        """Take the checks of a new plan; tasks that are done keep theirs."""
        open_tasks = {task.title for task in self._state.tasks.values() if task.verdict not in ACCEPTED}
        self._commands |= {task.title: task.checks for task in plan.tasks if task.title in open_tasks}
        self._guard = tuple(Check(command=command, owner=OF_GUARD) for command in plan.guard)
        self._texts = _texts(plan)

    @property
    def wanted(self) -> str:
        """What the tasks are to do: their titles, texts, checklists and checks."""
        return self._texts

    def all(self, task: TaskState, *, everything: bool = False) -> tuple[Check, ...]:
        """Return the task's own checks, the guard, and the checks of done tasks whose work is in its working copy.

        With `everything` those of all done tasks.
        """
        return (*self.own(task), *self._guard, *self._others(task, everything=everything))

    def baseline(self) -> tuple[Check, ...]:
        """Return every command of the plan once: the guard, then those of the tasks."""
        checks = {check.command: check for check in self._guard}
        for title, commands in self._commands.items():
            for command in commands:
                checks.setdefault(command, Check(command=command, owner=title))
        return tuple(checks.values())

    def own(self, task: TaskState) -> tuple[Check, ...]:
        """Return the checks that the plan declares for this task."""
        return tuple(Check(command=command, owner=OF_TASK) for command in self._commands[task.title])

    def _others(self, task: TaskState, *, everything: bool) -> list[Check]:
        return [
            Check(command=command, owner=other.title)
            for other in self._state.tasks.values()
            if other.title != task.title and other.verdict in (Verdict.DONE, Verdict.SATISFIED)
            if everything or self._workers.has_work_of(other, task)
            for command in self._commands[other.title]
        ]


def _texts(plan: Plan) -> str:
    lines: list[str] = []
    for task in plan.tasks:
        lines += [
            task.title,
            task.body,
            *(item.text for item in task.checklist),
            *(f"`{line}`" for line in task.checks),
        ]
    return "\n".join(lines)
