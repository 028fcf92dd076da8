"""The workers of a run, each with one working copy: a single one, or one for each parallel task. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator

from msgspec import Struct

from bridle.loop.effect_results import CopyResult, MovedCopy
from bridle.loop.effects import CopyState
from bridle.loop.process import decisions
from bridle.loop.process.receipt import WorkerCopy
from bridle.loop.process.task_state import RunState, TaskState


class Worker(Struct):
    """One working copy, and the task that is worked on in it."""

    number: int | None
    """None where there is only one."""
    head: str = ""
    """The commit that is checked out in its copy."""
    tree: str | None = None
    """The files in it, where they are not those of the commit."""
    task: str | None = None
    """The task whose work is in it."""
    landed: int = 0
    """How many landed tasks its copy contains."""
    is_ready: bool = False
    """Whether the copy is prepared for its task."""
    step: asyncio.Task[None] | None = None
    """What is running in it."""
    has_iterated: bool = False
    """Whether that has begun an iteration."""


class Workers:
    """All workers of a run, and the commits that their copies are at."""

    def __init__(self, *, parallel: int, has_worktree: bool, base: str) -> None:
        self.is_parallel = parallel > 1
        numbers = range(1, parallel + 1) if self.is_parallel else (None,)
        self.all = [Worker(number, base) for number in numbers]
        self.tip = base
        """The newest commit of the run."""
        self.landed = 0
        """How many tasks have landed on it."""
        self.used: set[int] = set()
        """The numbers of those that have had a task."""
        self._has_worktree = has_worktree or self.is_parallel
        self._of_task: dict[str, Worker] = {}

    @property
    def busy(self) -> list[Worker]:
        """The workers with a running step."""
        return [worker for worker in self.all if worker.step is not None]

    @property
    def planned(self) -> int:
        """How many running steps may still begin an iteration."""
        return sum(not worker.has_iterated for worker in self.busy)

    def next_task(self, worker: Worker, state: RunState, *, waiting: Collection[str] = ()) -> TaskState | None:
        """Return the task whose work is in the worker's copy if it is open, else the next that no worker has.

        Tasks that are `waiting` for their turn are left out.
        """
        if worker.task is not None and state.tasks[worker.task].is_open:
            return state.tasks[worker.task]
        taken = {other.task for other in self.all if other.task is not None} if self.is_parallel else set()
        return decisions.next_task(state, taken=taken.union(waiting), worker=worker.number)

    def assign(self, worker: Worker, task: TaskState) -> None:
        if worker.task != task.title:
            worker.task, worker.is_ready = task.title, False
        worker.has_iterated = False
        self._of_task[task.title] = worker
        task.worker = worker.number
        if worker.number is not None:
            self.used.add(worker.number)

    def finished_steps(self) -> Iterator[asyncio.Task[None]]:
        """Yield the steps that have finished; their workers are no longer busy."""
        for worker in self.busy:
            if worker.step is not None and worker.step.done():
                step, worker.step = worker.step, None
                yield step

    def release(self, task: TaskState) -> None:
        """Take a task from its worker, whose copy has no work of it any more; any worker may continue it."""
        self.free_copy(task)
        task.worker = None

    def free_copy(self, task: TaskState) -> None:
        """Let other tasks use the copy while this one waits; it continues with the same worker and session."""
        worker = self._of_task.pop(task.title, None)
        if worker is not None and worker.task == task.title:
            worker.task = None

    def of(self, task: TaskState) -> Worker:
        return self._of_task[task.title]

    def move_tip(self, tip: str) -> None:
        """Continue from another commit, which is checked out in the run's own copy."""
        self.tip = tip
        if not self.is_parallel:
            self.all[0].head = tip

    def move_copy(self, moved: MovedCopy) -> None:
        """Continue in a worker's copy with the files and the commit that it has now."""
        worker = self.all[moved.worker - 1]
        worker.head, worker.tree = moved.head, moved.tree

    def base_commit(self, task: TaskState) -> str:
        """Return the commit that a task's work starts from: later ones in its copy are the agent's."""
        return self.of(task).head if self.is_parallel else self.tip

    def has_work_of(self, other: TaskState, task: TaskState) -> bool:
        """Return whether the work of another task is in the copy where a task is worked on."""
        return not self.is_parallel or other.landed <= self.of(task).landed

    def copy_of(self, task: TaskState) -> tuple[int | None, CopyState | None]:
        """Return the worker's number and its copy's state, for the arguments of an effect."""
        if not self._has_worktree:
            return None, None
        worker = self.of(task)
        return worker.number, CopyState(head=worker.head, tree=worker.tree)

    def copies(self, state: RunState) -> Iterator[WorkerCopy]:
        """Yield the copies that have been used, each with the open task whose work is in it."""
        for worker in self.all:
            if worker.number in self.used and worker.number is not None:
                task = state.tasks[worker.task] if worker.task is not None else None
                is_open = task is not None and task.is_open
                snapshots = tuple(task.snapshots) if task is not None and is_open else ()
                yield WorkerCopy(
                    number=worker.number, head=worker.head, task=worker.task if is_open else None, snapshots=snapshots
                )

    def run_copy(self) -> CopyState | None:
        """Return the state of the run's own copy, for effects that belong to no worker."""
        if not self._has_worktree:
            return None
        return CopyState(head=self.tip, tree=None if self.is_parallel else self.all[0].tree)

    def update_copy(self, task: TaskState, result: CopyResult) -> None:
        """Note the state of a task's copy after an effect."""
        worker = self.of(task)
        worker.head = result.head or worker.head
        worker.tree = result.tree or worker.tree
