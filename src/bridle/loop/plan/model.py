"""A plan: its tasks, and the commands that verify them. Plain values that are recorded in the run."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bridle.loop.json_record import decode, to_json

MARKDOWN = "markdown"
PRD = "prd"
GOAL = "goal"


class Item(Struct, frozen=True):
    """One line of a task's checklist."""

    text: str
    is_ticked: bool = False


class Task(Struct, frozen=True):
    """One unit of work."""

    title: str
    """One line, unique in the plan."""
    body: str = ""
    """The text as written, without the checklist and the directives."""
    checklist: tuple[Item, ...] = ()
    checks: tuple[str, ...] = ()
    """The task's own shell commands; all must pass."""
    needs: tuple[str, ...] = ()
    """Titles of the tasks that must be done first, all in this plan."""
    may_edit: tuple[str, ...] = ()
    """Patterns of protected files that it may change."""
    priority: int = 0
    """The smallest runs first; equal ones run in the plan's order."""
    line: int = 0
    """The first line in the file; 0 without a file."""
    id: str = ""
    """The id of a prd.json user story; empty otherwise."""


class Plan(Struct, frozen=True):
    """The whole plan, as it was when it was read."""

    title: str
    text: str
    """The source text."""
    tasks: tuple[Task, ...]
    guard: tuple[str, ...] = ()
    """Shell commands that must pass for every task."""
    setup: tuple[str, ...] = ()
    """Shell commands that prepare a fresh checkout."""
    kind: str = MARKDOWN
    """`markdown`, `prd` or `goal`."""
    source: str = ""
    """The file as the user named it; empty for a goal."""
    path: str | None = None
    """The file's absolute path."""
    left_out: tuple[str, ...] = ()
    """Titles of tasks that are ticked in the plan."""
    warnings: tuple[str, ...] = ()
    """Warnings for the user before the start: one line each, with file and line."""

    def task(self, title: str) -> Task:
        """Return the task of that title. Raises KeyError."""
        for task in self.tasks:
            if task.title == title:
                return task
        raise KeyError(title)

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = to_json(self)
        return document

    @classmethod
    def from_json(cls, document: object) -> Plan:
        """Decode what `as_json` returned. Unknown keys are ignored, missing ones get their defaults."""
        return decode(document, cls)
