"""How the work of one worker comes to the run: merged one at a time, through the checks, or handed back. Pure.

A part of the loop's process: everything that touches the world is an effect, asked for through the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bridle.loop import effects
from bridle.loop.process import decisions
from bridle.loop.process.task_state import UNVERIFIED, TaskState
from bridle.loop.process.workers import Workers

Value = dict[str, Any]
Ask = Callable[[TaskState, str, Value, str], Awaitable[Value]]


@dataclass(frozen=True)
class Landed:
    """The work is on the run's branch."""

    commit: str | None
    """None where everything was there already."""
    results: list[Value] | None
    """How the checks ended on that commit; None where they had run on the very same files."""


@dataclass(frozen=True)
class Rejected:
    """It is not: what stands in its way is a part of the task from now on."""

    reason: str
    tree: str
    failure: str = ""
    """What checks printed that failed."""
    results: list[Value] | None = None
    note: str = ""
    """What the next prompt says."""


class MergeQueue:
    """Where all workers of a run hand in their work; one at a time."""

    def __init__(self, crew: Workers, ask: Ask, ask_home: Callable[[str, Value, str], Awaitable[Value]]) -> None:
        self._crew, self._ask, self._ask_home = crew, ask, ask_home
        self._turn = asyncio.Lock()

    async def take(self, task: TaskState) -> str | None:
        """Make a worker's copy ready for a task; gives why it cannot be."""
        slot = self._crew.of(task)
        if slot.is_ready:
            return None
        args = {"task": task.title, "iteration": task.iterations, "tip": self._crew.tip, "kept": task.kept}
        slot.landed = self._crew.landed
        taken = await self._ask(task, effects.TAKE, args, f"{task.title}: take")
        if taken.get("setup"):
            return setup_failure(taken["setup"])
        if taken.get("conflicts"):
            task.notes.append(_conflict_note(taken, str(task.kept)))
        slot.is_ready, task.kept = True, None
        return None

    async def is_newest(self, task: TaskState) -> bool:
        """Whether a copy holds all that has landed, with nothing about to; else it is to be taken again."""
        async with self._turn:
            slot = self._crew.of(task)
            slot.is_ready = slot.head == self._crew.tip
            task.landed = self._crew.landed
            return slot.is_ready

    async def keep(self, task: TaskState) -> None:
        """Keep a task's work where it has to wait for a person; its copy is free for others meanwhile."""
        args = {"task": task.title, "iteration": task.iterations}
        task.kept = (await self._ask(task, effects.KEEP, args, f"{task.title}: keep"))["kept"]
        self._crew.step_aside(task)

    async def hand_in(
        self, task: TaskState, made: Value, args: Value, checks: Callable[[], list[Value]]
    ) -> Landed | Rejected:
        """Put a task's commit on top of what others have landed; nothing moves unless its checks pass there."""
        async with self._turn:
            wanted = checks()  # those of tasks that have landed while it waited are among them
            given = {
                **{name: args[name] for name in ("task", "iteration", "verdict", "cost_usd")},
                "checks": 0 if args["verdict"] == UNVERIFIED else len(wanted),
                "commit": made.get("commit") or self._crew.of(task).head,
                "tip": self._crew.tip,
            }
            merged = await self._ask(task, effects.MERGE, given, f"{task.title}: merge")
            if merged.get("conflicts"):
                return self._conflicting(task, merged)
            results = None
            if args["verdict"] != UNVERIFIED and not _was_seen(task, wanted, merged, args.get("tree")):
                results = await self._judged(task, wanted, merged)
                if any(one["exit_code"] != 0 for one in results):
                    return self._red(task, merged, results)
            if merged.get("commit"):
                await self._land(task, str(merged["commit"]))
            task.landed = self._crew.landed
            return Landed(merged.get("commit"), results)

    async def _judged(self, task: TaskState, wanted: list[Value], merged: Value) -> list[Value]:
        if merged.get("setup"):
            return [merged["setup"]]
        args = {"task": task.title, "iteration": task.iterations, "when": effects.WHEN_MERGED, "checks": wanted}
        looked = await self._ask(task, effects.CHECK, args, f"{task.title}: checks {effects.WHEN_MERGED}")
        results: list[Value] = looked["results"]
        return results

    async def _land(self, task: TaskState, commit: str) -> None:
        args = {"task": task.title, "iteration": task.iterations, "commit": commit, "tip": self._crew.tip}
        await self._ask_home(effects.LAND, args, f"{task.title}: land")
        self._crew.tip = commit
        self._crew.landed += 1

    def _conflicting(self, task: TaskState, merged: Value) -> Rejected:
        """The next iteration begins with what others have done; `take` tells it where its own work is."""
        task.kept = str(merged["kept"])
        self._crew.of(task).is_ready = False
        named = ", ".join(merged["conflicts"])
        return Rejected(f"it conflicts with what others have done meanwhile in {named}", str(merged["tree"]))

    def _red(self, task: TaskState, merged: Value, results: list[Value]) -> Rejected:
        task.kept = str(merged["kept"])
        self._crew.of(task).is_ready = False
        failing = [str(one["command"]) for one in results if one["exit_code"] != 0]
        note = (
            "Your work passed by itself, and was then put on top of what others have done meanwhile. Together with that"
            " checks fail; both are in the working copy now."
        )
        reason = f"together with what others have done meanwhile, checks failed: {'; '.join(failing)}"
        return Rejected(reason, str(merged["tree"]), decisions.failure_text(results), results, note)


def setup_failure(failed: Value) -> str:
    """A setup that failed, in words."""
    lines = str(failed.get("output") or "").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    return f"the setup {failed.get('command')!r} failed in the worktree (exit code {failed.get('exit_code')}){said}"


def _was_seen(task: TaskState, wanted: list[Value], merged: Value, tree: str | None) -> bool:
    """Whether all these checks have passed on these very files already."""
    ran = {one["command"] for one in task.checks}
    return not merged.get("setup") and merged["tree"] == tree and all(one["command"] in ran for one in wanted)


def _conflict_note(taken: Value, kept: str) -> str:
    whose = " and ".join(repr(title) for title in taken.get("conflicts_with") or ()) or "others"
    return (
        f"Your earlier work on this task could not be merged: {', '.join(taken['conflicts'])} conflicts with what was"
        f" done meanwhile by {whose}. The working copy holds what the others have done, and nothing of yours. Your work"
        f" is kept as {kept}: `git diff HEAD...{kept}` shows it, `git show {kept}:PATH` a file of it. Bring into the"
        " working copy what the task needs of it, in a form that keeps what the others have done."
    )
