"""Requests effects of the loop, each in the working copy of its task, and decodes their results.

A part of the loop's process: results are decoded here and nowhere else in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from bridle import define_task
from bridle.loop import effects
from bridle.loop.effect_results import (
    ChecksResult,
    CopyResult,
    PauseResult,
    PrepareResult,
    ProtectResult,
    Result,
    UserChanges,
    WorkResult,
)
from bridle.loop.effects import Arguments, Check, TaskArguments
from bridle.loop.json_record import JsonRecord
from bridle.loop.plan.model import Plan
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.task_state import TaskState
from bridle.loop.process.workers import Workers
from bridle.loop.run_inputs import RunInputs

# How many undone changes the next prompt lists one by one.
SHOWN_CHANGES = 50

# Arguments that explain a decision to an agent or a user; each follows from results that the journal holds.
_TEXTS = frozenset({"answered", "failure", "notes", "reason", "receipt", "why"})

R = TypeVar("R", bound=JsonRecord)
C = TypeVar("C", bound=CopyResult)


def _define(kind: str, identity: Callable[[Any], Any] | None = None) -> Any:
    return define_task(
        kind,
        lambda args, _task: {"kind": kind, "title": _title(kind, args), "idempotent": True},
        identity=identity,
    )


def _decisions(args: Any) -> Any:
    """Return the arguments without the texts that Bridle writes: another version may word them differently."""
    return {name: value for name, value in args.items() if name not in _TEXTS} if isinstance(args, dict) else args


def _title(kind: str, args: dict[str, Any]) -> str:
    return " ".join(
        str(part) for part in (kind.removeprefix("bridle."), args.get("task"), args.get("iteration")) if part
    )


_KINDS = (*effects.PERFORMED, effects.PAUSE)
_TASKS = {kind: _define(kind) for kind in _KINDS}
# For runs of another version: what was decided must be the same, not how it was worded.
_TASKS_OF_OTHER_WORDING = {kind: _define(kind, _decisions) for kind in _KINDS}


class EffectRequests:
    """Requests effects, and notes what their results say about time and working copies."""

    def __init__(
        self,
        ctx: Any,
        workers: Workers,
        inputs: RunInputs,
        time: ActiveTime,
        on_user_changes: Callable[[UserChanges], None],
    ) -> None:
        self._ctx, self._workers, self._time, self._on_user_changes = ctx, workers, time, on_user_changes
        self.isolations: dict[str, None] = {}
        """The sandboxes of agents and checks so far, each once."""
        self._may_edit = {task.title: task.may_edit for task in inputs.plan.tasks}
        self._tasks = _TASKS if inputs.has_current_wording else _TASKS_OF_OTHER_WORDING

    async def prepare(self) -> PrepareResult:
        """Make the branch, and whatever else a run needs before its first task."""
        return await self._request(effects.PrepareArgs(), "prepare")

    async def baseline(self, checks: tuple[Check, ...]) -> ChecksResult:
        """Run every check of the plan before the first agent."""
        return await self.for_run(effects.CheckArgs(when=effects.BASELINE, checks=checks), "baseline")

    async def pause(self, args: effects.PauseArgs) -> PauseResult:
        """Wait until the user resumes the run; return what the user sent."""
        return await self._request(args, f"paused: {args.reason}")

    async def for_task(self, task: TaskState, args: TaskArguments[C], label: str) -> C:
        """Request an effect in the working copy of a task."""
        number, state = self._workers.copy_of(task)
        result = await self._request(msgspec.structs.replace(args, worker=number, copy_state=state), label)
        self._workers.update_copy(task, result)
        return result

    async def for_run(self, args: Arguments[R], label: str | None) -> R:
        """Request an effect in the run's own working copy."""
        return await self._request(msgspec.structs.replace(args, copy_state=self._workers.run_copy()), label)

    async def _request(self, args: Arguments[R], label: str | None) -> R:
        value = await self._ctx.task(self._tasks[args.kind], args.as_json(), label=label)
        result: Any = args.result.from_json(value)
        if isinstance(result, Result):
            self._time.add(result.clock)
            if result.isolation:
                self.isolations[result.isolation] = None
            if result.user_changes is not None:
                self._on_user_changes(result.user_changes)
        return result  # type: ignore[no-any-return]  # `result` names the class of R

    async def check(
        self, task: TaskState, when: str, checks: tuple[Check, ...], *, outside: Sequence[str] = ()
    ) -> ChecksResult:
        """Run these checks, and again without the files `outside`, which no commit contains."""
        args = effects.CheckArgs(
            task=task.title,
            iteration=task.iterations,
            when=when,
            checks=checks,
            outside=tuple(outside),
            snapshot=task.first_snapshot if outside else None,
        )
        checked = await self.for_task(task, args, f"{task.title}: checks {when}")
        task.checked_on = self._workers.base_commit(task)
        task.report(checked.reported)
        return checked

    async def protect(self, task: TaskState, work: WorkResult) -> ProtectResult:
        """Undo changes that an agent may not make, and note them for the next prompt."""
        args = effects.ProtectArgs(
            task=task.title,
            iteration=task.iterations,
            snapshot=work.snapshot,
            may_edit=self._may_edit[task.title],
            tip=self._workers.base_commit(task),
        )
        result = await self.for_task(task, args, f"{task.title}: protect")
        undone = result.undone
        task.outside = list(dict.fromkeys([*task.outside, *result.outside]))
        task.undone += [report.path for report in undone]
        task.notes += [
            f"Your change to {report.path} was reverted: {report.what}." for report in undone[:SHOWN_CHANGES]
        ]
        if len(undone) > SHOWN_CHANGES:
            task.notes.append(f"{len(undone) - SHOWN_CHANGES} more of your changes to protected files were reverted.")
        task.report(result.reported)
        return result

    def replace_plan(self, plan: Plan) -> None:
        """Take what tasks may edit from a new plan."""
        self._may_edit |= {task.title: task.may_edit for task in plan.tasks}

    async def undo_work(self, task: TaskState) -> None:
        """Restore the state from before a task that is given up; its reason names the ref that keeps the work."""
        kept = await self.roll_back(task, task.first_snapshot, task.reason)
        has_work, task.has_work, task.outside = task.has_work, False, []
        if kept and has_work:
            task.reason += f"; its work is kept as {kept}"

    async def roll_back(self, task: TaskState, snapshot: str | None, why: str) -> str:
        """Restore a snapshot, and return the ref that holds the undone work."""
        if not snapshot:
            return ""
        args = effects.RollbackArgs(task=task.title, iteration=task.iterations, snapshot=snapshot, why=why)
        result = await self.for_task(task, args, f"{task.title}: roll back")
        return f"refs/bridle/snapshots/{result.kept}"
