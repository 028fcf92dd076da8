"""Which checks of the plan a task has to pass. Pure: a part of the loop's process."""

from __future__ import annotations

from typing import Any

from bridle.loop.process.task_state import DONE, SATISFIED, RunState, TaskState
from bridle.loop.process.workers import Workers

Check = dict[str, str]


class Declared:
    """The checks of a frozen plan."""

    def __init__(self, plan: dict[str, Any], ledger: RunState, crew: Workers) -> None:
        self._tasks = {task["title"]: task for task in plan["tasks"]}
        self._guard: list[Check] = [{"command": command, "of": "guard"} for command in plan.get("guard") or ()]
        self._ledger, self._crew = ledger, crew

    def all(self, task: TaskState, *, everything: bool = False) -> list[Check]:
        """Everything that must pass for a task: its own, the guard, and those of tasks that are done."""
        return [*self.own(task), *self._guard, *self._others(task, everything=everything)]

    def own(self, task: TaskState) -> list[Check]:
        """Those that the plan declares for this task."""
        return [{"command": command, "of": "task"} for command in self._tasks[task.title].get("checks") or ()]

    def _others(self, task: TaskState, *, everything: bool) -> list[Check]:
        """The checks of tasks that are done, where their work is: this one must not break them."""
        return [
            {"command": command, "of": book.title}
            for book in self._ledger.tasks.values()
            if book.title != task.title and book.verdict in (DONE, SATISFIED)
            if everything or self._crew.has_arrived(book, task)
            for command in self._tasks[book.title].get("checks") or ()
        ]
