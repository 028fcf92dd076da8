"""The effects that the loop asks for, each in the working copy where its task is worked on. A part of its process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle import define_task
from bridle.loop import effects
from bridle.loop.process.task_state import TaskState
from bridle.loop.process.workers import Workers

# Of changes that were undone, those that the next prompt names one by one.
SHOWN_CHANGES = 50

# Arguments that explain a decision to an agent or a user; each follows from results that the journal holds.
_TEXTS = frozenset({"failure", "notes", "reason", "receipt", "why"})


def _effect(kind: str) -> Any:
    return define_task(
        kind,
        lambda args, _task: {"kind": kind, "title": _title(kind, args), "idempotent": True},
        identity=_decisions,
    )


def _decisions(args: Any) -> Any:
    """Return the arguments without the texts that Bridle writes: another version may word them differently."""
    return {name: value for name, value in args.items() if name not in _TEXTS} if isinstance(args, dict) else args


def _title(kind: str, args: dict[str, Any]) -> str:
    return " ".join(
        str(part) for part in (kind.removeprefix("bridle."), args.get("task"), args.get("iteration")) if part
    )


_EFFECTS = {kind: _effect(kind) for kind in (*effects.PERFORMED, effects.PAUSE)}


class EffectRequests:
    """Asks for effects, and notes what they tell."""

    def __init__(self, ctx: Any, crew: Workers, tasks: Mapping[str, Mapping[str, Any]]) -> None:
        self._ctx, self._crew, self._tasks = ctx, crew, tasks

    async def prepare(self) -> dict[str, Any]:
        """Make the branch, and what else a run needs before its first task."""
        value: dict[str, Any] = await self._ctx.task(_EFFECTS[effects.PREPARE], {}, label="prepare")
        return value

    async def pause(self, args: dict[str, Any]) -> dict[str, Any]:
        """Wait for a person; gives what the person said."""
        said: dict[str, Any] | None = await self._ctx.task(
            _EFFECTS[effects.PAUSE], args, label=f"paused: {args['reason']}"
        )
        return said or {}

    async def ask(self, task: TaskState, kind: str, args: dict[str, Any], label: str) -> dict[str, Any]:
        """An effect for a task, in the working copy where it is worked on."""
        wanted = {**args, **self._crew.place(task)}
        value: dict[str, Any] = await self._ctx.task(_EFFECTS[kind], wanted, label=label)
        self._crew.saw(task, value)
        return value

    async def ask_home(self, kind: str, args: dict[str, Any], label: str | None) -> dict[str, Any]:
        """An effect for the run as a whole, in its own working copy."""
        value: dict[str, Any] = await self._ctx.task(_EFFECTS[kind], {**args, **self._crew.home()}, label=label)
        return value

    async def check(self, task: TaskState, when: str, checks: list[dict[str, str]]) -> dict[str, Any]:
        """Run these checks."""
        args = {"task": task.title, "iteration": task.iterations, "when": when, "checks": checks}
        return await self.ask(task, effects.CHECK, args, f"{task.title}: checks {when}")

    async def protect(self, task: TaskState, work: dict[str, Any]) -> dict[str, Any]:
        """Undo what an agent may not change, and note it for the next one."""
        args = {
            "task": task.title,
            "iteration": task.iterations,
            "snapshot": work.get("snapshot"),
            "may_edit": list(self._tasks[task.title].get("may_edit") or ()),
            "tip": self._crew.ground(task),
        }
        kept = await self.ask(task, effects.PROTECT, args, f"{task.title}: protect")
        undone = kept.get("undone") or ()
        task.undone += [str(one["path"]) for one in undone]
        task.notes += [f"Your change to {one['path']} was undone: {one['what']}." for one in undone[:SHOWN_CHANGES]]
        if len(undone) > SHOWN_CHANGES:
            task.notes.append(f"{len(undone) - SHOWN_CHANGES} more of your changes to protected files were undone.")
        task.report(kept.get("reported") or ())
        return kept

    async def roll_back(self, task: TaskState, snapshot: Any, why: str) -> str:
        """Take a task's work back; gives the ref that keeps it."""
        if not snapshot:
            return ""
        args = {"task": task.title, "iteration": task.iterations, "snapshot": snapshot, "why": why}
        undone = await self.ask(task, effects.ROLLBACK, args, f"{task.title}: roll back")
        return f"refs/bridle/snapshots/{undone.get('kept')}"
