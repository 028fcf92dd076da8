"""The places where tasks are worked on: one, or one for each worker. Pure: what the journal tells of each copy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bridle.loop.process import decisions
from bridle.loop.process.task_state import RunState, TaskState


@dataclass
class Worker:
    """Room for one task at a time, in one working copy."""

    worker: int | None
    """Its number; None where there is one place only."""
    head: str = ""
    """The commit that its copy stands on."""
    tree: str | None = None
    """The files in it, where they are not those of the commit."""
    task: str | None = None
    """Whose work is in it."""
    landed: int = 0
    """How many tasks have landed that are in its copy."""
    is_ready: bool = False
    """Whether the copy is as that task needs it."""
    chain: asyncio.Task[None] | None = None
    """What is being done there."""


class Workers:
    """All places of a run."""

    def __init__(self, *, parallel: int, has_worktree: bool, base: str) -> None:
        self.is_parallel = parallel > 1
        self.slots = (
            [Worker(number, base) for number in range(1, parallel + 1)] if self.is_parallel else [Worker(None, base)]
        )
        self.tip = base
        """The newest commit of the run, on which the next one is put."""
        self.landed = 0
        """How many tasks have landed on it."""
        self.workers: set[int] = set()
        """Those that have had a task."""
        self._has_worktree = has_worktree or self.is_parallel
        self._at: dict[str, Worker] = {}

    @property
    def at_work(self) -> list[Worker]:
        """The places where something is being done."""
        return [slot for slot in self.slots if slot.chain is not None]

    def next_task(self, slot: Worker, ledger: RunState) -> TaskState | None:
        """What to do there: go on with the work that is in it, or begin what nobody else has."""
        if slot.task is not None and ledger.tasks[slot.task].is_open:
            return ledger.tasks[slot.task]
        taken = {one.task for one in self.slots if one.task is not None} if self.is_parallel else set()
        return decisions.next_task(ledger, taken=taken, worker=slot.worker)

    def begin(self, slot: Worker, task: TaskState) -> None:
        """A task is worked on there from now on."""
        if slot.task != task.title:
            slot.task, slot.is_ready = task.title, False
        self._at[task.title] = slot
        task.worker = slot.worker
        if slot.worker is not None:
            self.workers.add(slot.worker)

    def ended(self) -> Iterator[asyncio.Task[None]]:
        """What has come to its end; its place is free again."""
        for slot in self.at_work:
            if slot.chain is not None and slot.chain.done():
                chain, slot.chain = slot.chain, None
                yield chain

    def let_go(self, task: TaskState) -> None:
        """Nothing of this task is in its copy any more; whoever goes on with it can do so anywhere."""
        self.step_aside(task)
        task.worker = None

    def step_aside(self, task: TaskState) -> None:
        """Others may use its copy meanwhile; it goes on there, where its conversation is."""
        slot = self._at.pop(task.title, None)
        if slot is not None and slot.task == task.title:
            slot.task = None

    def of(self, task: TaskState) -> Worker:
        """Where a task is worked on."""
        return self._at[task.title]

    def ground(self, task: TaskState) -> str:
        """The commit that a task's work stands on: whatever is above it, its agent has made."""
        return self.of(task).head if self.is_parallel else self.tip

    def has_arrived(self, other: TaskState, task: TaskState) -> bool:
        """Whether the work of another task is in the copy where a task is worked on."""
        return not self.is_parallel or other.landed <= self.of(task).landed

    def place(self, task: TaskState) -> dict[str, Any]:
        """What an effect is told of its copy: whose it is, and what it is like if it has to be made anew."""
        if not self._has_worktree:
            return {}
        slot = self.of(task)
        stands = {"head": slot.head, "tree": slot.tree}
        return {"stands": stands} if slot.worker is None else {"worker": slot.worker, "stands": stands}

    def home(self) -> dict[str, Any]:
        """The same of the run's own copy, where no task is worked on in particular."""
        if not self._has_worktree:
            return {}
        return {"stands": {"head": self.tip, "tree": None if self.is_parallel else self.slots[0].tree}}

    def saw(self, task: TaskState, value: Mapping[str, Any]) -> None:
        """What an effect says that its copy is like now."""
        slot = self.of(task)
        slot.head = str(value.get("head") or slot.head)
        slot.tree = value.get("tree") or slot.tree
