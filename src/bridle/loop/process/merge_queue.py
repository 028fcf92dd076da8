"""The merge queue of parallel workers: one task at a time is merged, checked and landed, or rejected.

A rejected task gets a turn: in its next iteration nothing else lands, so that tasks which change the same files all
finish within their tries. One task at a time has a turn; the others work on, and land when it ends.

A part of the loop's process: everything that touches the world is an effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec import Struct

from bridle.loop import effects
from bridle.loop.effect_results import CheckResult, CommitResult, MergeResult, PrepareCopyResult
from bridle.loop.effects import Check, CommitArgs
from bridle.loop.process import decisions
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.task_state import TaskState, Verdict
from bridle.loop.process.workers import Workers


class Landed(Struct, frozen=True):
    """The work is on the run's branch."""

    commit: str | None
    """None where the branch had all of it already."""
    results: tuple[CheckResult, ...] = ()
    """The results of the checks on that commit; empty where they had run on the same tree before."""


class Rejected(Struct, frozen=True):
    """The work conflicts with the run's branch, or its checks fail together with it."""

    reason: str
    tree: str
    failure: str = ""
    """The output of the checks that failed."""
    results: tuple[CheckResult, ...] = ()
    note: str = ""
    """For the next prompt."""


class MergeQueue:
    """Merges the work of all workers of a run, one task at a time."""

    def __init__(self, workers: Workers, requests: EffectRequests, *, has_turns: bool = True) -> None:
        self._workers, self._requests = workers, requests
        self._lock = asyncio.Lock()
        self._has_turns = has_turns
        self._waiting: list[str] = []
        """The tasks that were rejected, in that order; each gets a turn."""
        self._turn: str | None = None
        """The task whose turn it is."""
        self._holds_tip = False
        """Whether nothing else lands until the turn ends."""

    @property
    def waiting(self) -> list[str]:
        """The tasks that were rejected and wait for their turn; no iteration of theirs starts before."""
        return [title for title in self._waiting if title != self.next_turn]

    @property
    def next_turn(self) -> str | None:
        """The task whose turn is next; None during another's turn."""
        return self._waiting[0] if self._waiting and self._turn is None else None

    def give_turn(self, task: TaskState) -> None:
        """Note that the next step of a rejected task is its turn."""
        if task.title in self._waiting:
            self._waiting.remove(task.title)
            self._turn = task.title

    async def begin_turn(self, task: TaskState) -> None:
        """Hold the newest commit for a task whose turn it is: its work cannot be rejected once more for another's."""
        if self._turn == task.title:
            await self._lock.acquire()
            self._holds_tip = True

    def end_turn(self, task: TaskState) -> None:
        """Let other tasks land again."""
        if self._turn == task.title:
            self._turn = None
            if self._holds_tip:
                self._holds_tip = False
                self._lock.release()

    def forget(self, task: TaskState) -> None:
        """Take a task that needs no turn any more out of the queue."""
        if task.title in self._waiting:
            self._waiting.remove(task.title)

    def is_waiting(self, task: TaskState) -> bool:
        """Return whether the task was rejected and waits for its turn."""
        return task.title in self._waiting

    @asynccontextmanager
    async def _exclusive(self, task: TaskState) -> AsyncIterator[None]:
        """Let no other task land until this block ends."""
        if self._turn == task.title and self._holds_tip:
            yield
            return
        async with self._lock:
            yield

    async def prepare_copy(self, task: TaskState) -> CheckResult | None:
        """Bring the worker's copy to the newest commit, with the task's earlier work; return the setup that failed."""
        worker = self._workers.of(task)
        if worker.is_ready:
            return None
        args = effects.PrepareCopyArgs(
            task=task.title, iteration=task.iterations, tip=self._workers.tip, kept=task.kept
        )
        worker.landed = self._workers.landed
        taken = await self._requests.for_task(task, args, f"{task.title}: take")
        if taken.setup is not None:
            return taken.setup
        if taken.conflicts:
            task.notes.append(_conflict_note(taken, str(task.kept)))
        worker.is_ready, task.kept = True, None
        return None

    async def is_up_to_date(self, task: TaskState) -> bool:
        """Return whether the task's copy has the newest commit; if not, it is prepared again."""
        async with self._exclusive(task):
            worker = self._workers.of(task)
            worker.is_ready = worker.head == self._workers.tip
            task.landed = self._workers.landed
            return worker.is_ready

    async def save_work(self, task: TaskState) -> None:
        """Save the work of a task that waits for the user, and free its copy."""
        args = effects.SaveWorkArgs(task=task.title, iteration=task.iterations)
        task.kept = (await self._requests.for_task(task, args, f"{task.title}: keep")).kept
        self._workers.free_copy(task)

    async def submit(
        self, task: TaskState, committed: CommitResult, args: CommitArgs, checks: Callable[[], tuple[Check, ...]]
    ) -> Landed | Rejected:
        """Merge a task's commit with the newest one; it lands only if its checks pass there."""
        async with self._exclusive(task):
            while True:
                merged = await self._merge(task, committed, args, checks())  # also of tasks that landed while it waited
                if merged is not None:
                    return merged

    async def _merge(
        self, task: TaskState, committed: CommitResult, args: CommitArgs, required: tuple[Check, ...]
    ) -> Landed | Rejected | None:
        """Merge a task's commit with the newest one; return None where the user has added commits since."""
        is_checked = args.verdict != Verdict.UNVERIFIED
        merge = effects.MergeArgs(
            task=args.task,
            iteration=args.iteration,
            verdict=args.verdict,
            cost_usd=args.cost_usd,
            known_cost_usd=args.known_cost_usd,
            checks=len(required) if is_checked else 0,
            commit=committed.commit or self._workers.of(task).head,
            tip=self._workers.tip,
        )
        merged = await self._requests.for_task(task, merge, f"{task.title}: merge")
        if merged.conflicts:
            return self._conflicting(task, merged)
        results: tuple[CheckResult, ...] = ()
        if is_checked and not _was_checked(task, required, merged, args.tree):
            results = await self._check(task, required, merged)
            if not all(result.passed for result in results):
                return self._checks_failed(task, merged, results)
        if merged.commit and not await self._land(task, merged.commit):
            return None
        task.landed = self._workers.landed
        return Landed(merged.commit, results)

    async def _check(self, task: TaskState, checks: tuple[Check, ...], merged: MergeResult) -> tuple[CheckResult, ...]:
        if merged.setup is not None:
            return (merged.setup,)
        return (await self._requests.check(task, effects.BEFORE_LANDING, checks)).results

    async def _land(self, task: TaskState, commit: str) -> bool:
        """Move the branch; return False where the user has added commits to it, which are the newest now."""
        args = effects.LandArgs(task=task.title, iteration=task.iterations, commit=commit, tip=self._workers.tip)
        newer = (await self._requests.for_run(args, f"{task.title}: land")).newer
        self._workers.tip = newer or commit
        self._workers.landed += newer is None
        return newer is None

    def _conflicting(self, task: TaskState, merged: MergeResult) -> Rejected:
        """Let the next iteration start from the newest commit; `prepare_copy` notes where the task's work is."""
        self._line_up(task, merged)
        named = ", ".join(merged.conflicts)
        return Rejected(f"merge conflict with work that has landed since, in {named}", merged.tree or "")

    def _checks_failed(self, task: TaskState, merged: MergeResult, results: tuple[CheckResult, ...]) -> Rejected:
        self._line_up(task, merged)
        failing = [result.command for result in results if not result.passed]
        note = (
            "Your work passed its checks, and was then merged with work of other tasks that has landed since. Together"
            " they fail the checks; both are in the working copy now."
        )
        reason = f"checks failed after the merge with work that has landed since: {'; '.join(failing)}"
        return Rejected(reason, merged.tree or "", decisions.failure_text(results), results, note)

    def _line_up(self, task: TaskState, merged: MergeResult) -> None:
        """Keep the work of a rejected task for its turn."""
        task.kept = merged.kept
        self._workers.of(task).is_ready = False
        if self._has_turns:
            self._waiting.append(task.title)


def setup_failure(failed: CheckResult) -> str:
    """Describe a setup command that failed."""
    lines = failed.output.strip().splitlines()
    last = f": {lines[-1]}" if lines else ""
    return f"the setup command {failed.command!r} failed in the worktree with exit code {failed.exit_code}{last}"


def _was_checked(task: TaskState, required: tuple[Check, ...], merged: MergeResult, tree: str | None) -> bool:
    """Return whether all these checks have already passed on the same tree."""
    ran = {check.command for check in task.checks}
    return merged.setup is None and merged.tree == tree and all(check.command in ran for check in required)


def _conflict_note(taken: PrepareCopyResult, kept: str) -> str:
    others = " and ".join(repr(title) for title in taken.conflicts_with) or "other tasks"
    return (
        f"Your earlier work on this task could not be merged: {', '.join(taken.conflicts)} conflicts with work of"
        f" {others} that has landed since. The working copy contains that work, and none of yours. Yours is kept as"
        f" {kept}: `git diff HEAD...{kept}` shows it, `git show {kept}:PATH` shows a file of it. Apply what the task"
        " needs of it to the working copy, without undoing the landed work."
    )
