"""A plan: what is to be done, task by task, and which commands say that it is. Plain values, frozen into the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MARKDOWN = "markdown"
PRD = "prd"
GOAL = "goal"


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a task's checklist."""

    text: str
    is_ticked: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work."""

    title: str
    """On one line, and unlike every other title of the plan."""
    body: str = ""
    """The person's words, without the checklist and the directives."""
    checklist: tuple[Item, ...] = ()
    checks: tuple[str, ...] = ()
    """Shell lines of its own; all must pass."""
    needs: tuple[str, ...] = ()
    """Titles of the tasks it waits for, each a task of this plan."""
    may_edit: tuple[str, ...] = ()
    """Patterns of protected files that it may change."""
    priority: int = 0
    """The smallest goes first; among equals the order of the plan decides."""
    line: int = 0
    """Where it begins in the file; 0 where there is none."""
    id: str = ""
    """The id of a user story; empty elsewhere."""

    def as_json(self) -> dict[str, Any]:
        """For the journal."""
        return {name: _listed(value) for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        """What `as_json` gave."""
        return cls(
            title=value["title"],
            body=value["body"],
            checklist=tuple(Item(**item) for item in value["checklist"]),
            checks=tuple(value["checks"]),
            needs=tuple(value["needs"]),
            may_edit=tuple(value["may_edit"]),
            priority=value["priority"],
            line=value["line"],
            id=value["id"],
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole plan, as it stood when it was read."""

    title: str
    text: str
    """Every word of it, as written."""
    tasks: tuple[Task, ...]
    guard: tuple[str, ...] = ()
    """Shell lines that must pass for every task."""
    setup: tuple[str, ...] = ()
    """Shell lines that prepare a fresh checkout."""
    kind: str = MARKDOWN
    """`markdown`, `prd` or `goal`."""
    source: str = ""
    """The file as it was named, for people; empty for a goal."""
    path: str | None = None
    """The same file, absolute."""
    left_out: tuple[str, ...] = ()
    """Titles of tasks that the plan itself calls done."""
    warnings: tuple[str, ...] = ()
    """What a person should know before the start: one line each, with file and line."""

    def task(self, title: str) -> Task:
        """The task of that title; KeyError where there is none."""
        for task in self.tasks:
            if task.title == title:
                return task
        raise KeyError(title)

    def as_json(self) -> dict[str, Any]:
        """For the journal."""
        return {name: _listed(value) for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Plan:
        """What `as_json` gave."""
        return cls(
            title=value["title"],
            text=value["text"],
            tasks=tuple(Task.from_json(task) for task in value["tasks"]),
            guard=tuple(value["guard"]),
            setup=tuple(value["setup"]),
            kind=value["kind"],
            source=value["source"],
            path=value["path"],
            left_out=tuple(value["left_out"]),
            warnings=tuple(value["warnings"]),
        )


def _listed(value: Any) -> Any:
    """The same with lists for tuples, as JSON would give it back."""
    if isinstance(value, dict):
        return {name: _listed(one) for name, one in value.items()}
    return [_listed(one) for one in value] if isinstance(value, (tuple, list)) else value
