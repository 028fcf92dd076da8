"""Registers the loop's effects with the engine's driver: one table from kind to function.

Arguments are decoded and results are encoded here, and nowhere else in the performers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bridle.engine.drive.performer import Job, Performer, Unperformed
from bridle.errors import DiskError, GitError, MachineError, RunError, UserError
from bridle.ground import clock
from bridle.journal.format.chain import format_head
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.chain_file import head_at
from bridle.loop import effects
from bridle.loop.effect_results import Result
from bridle.loop.effects import Arguments
from bridle.loop.performers import branch, check, merge_work, protect, summarize, work
from bridle.loop.performers.delivery import Delivery
from bridle.loop.performers.driver_time import DriverTime
from bridle.loop.performers.evidence import evidence
from bridle.loop.performers.make_commit import make_commit
from bridle.loop.performers.working_copies import Worktrees
from bridle.loop.progress_events import EffectFinished, EffectStarted
from bridle.loop.protection.git_files import git_metadata
from bridle.loop.user_messages import UserMessageReader
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import discard_broken
from bridle.workspace import gc_lock

# The effects that start agents or commands of the plan.
_STARTERS = frozenset({effects.CheckArgs.kind, effects.WorkArgs.kind, effects.SummarizeArgs.kind})

Function = Callable[[Any, RunContext], Awaitable[Result]]
"""Executes an effect with its decoded arguments."""


def functions(messages: UserMessageReader, time: DriverTime) -> Mapping[type[Arguments[Any]], Function]:
    """Return the function that executes each kind of effect, by the type of its arguments."""
    return {
        effects.PrepareArgs: branch.prepare,
        effects.CheckArgs: check.check,
        effects.WorkArgs: lambda args, context: work.work(args, context, messages, time),
        effects.ProtectArgs: protect.protect,
        effects.CommitArgs: make_commit,
        effects.RollbackArgs: branch.roll_back,
        effects.PrepareCopyArgs: merge_work.prepare_copy,
        effects.SaveWorkArgs: merge_work.save_work,
        effects.MergeArgs: merge_work.merge,
        effects.LandArgs: merge_work.land,
        effects.SummarizeArgs: lambda args, context: summarize.summarize(args, context, time),
    }


def performers(
    messages: UserMessageReader, copies: Worktrees, time: DriverTime, delivery: Delivery
) -> dict[str, Performer]:
    """Return a performer for each kind."""
    return {
        arguments.kind: LoopPerformer(arguments, function, copies, time, delivery)
        for arguments, function in functions(messages, time).items()
    }


@dataclass(frozen=True)
class LoopPerformer:
    """Executes one kind of effect; all of them can be repeated."""

    arguments: type[Arguments[Any]]
    function: Function
    copies: Worktrees
    time: DriverTime
    delivery: Delivery

    @property
    def may_repeat(self) -> bool:
        """Whether a second attempt is safe: it finds what the first one did."""
        return True

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Execute an effect; no secret is in its result."""
        started = clock.iso(clock.now())
        args = self.delivery.update(self.arguments.from_json(job.task.inputs))
        listener = self.copies.context.watch
        listener(EffectStarted(args))
        async with gc_lock.hold(self.copies.context.git):
            result, proof = await self._execute(args, job)
        finished = clock.iso(clock.now())
        stamped = msgspec.structs.replace(result, clock=self.time.read(), isolation=self._isolation(args))
        value = job.mask.apply_to_json(stamped.as_json())
        listener(EffectFinished(args, type(result).from_json(value)))
        return Posted(OK, value=value, started_at=started, finished_at=finished, metadata=proof or None)

    def _isolation(self, args: Arguments[Any]) -> str:
        """Return what isolated the agent or the checks of an effect."""
        return self.copies.context.sandbox.description if args.kind in _STARTERS else ""

    async def _execute(self, args: Arguments[Any], job: Job) -> tuple[Result, dict[str, Any]]:
        """Return the result and its evidence. An error ends the driver, and the next driver tries again.

        Recorded as the result of the effect, it would stay in the journal, and the run could never continue.
        """
        try:
            context = await self.copies.context_for(args)
            try:
                result = await self._call(args, context, job)
            except (GitError, DiskError, OSError) as error:
                restored = git_metadata.restore_while_agents_work(context.folder, context.progress_folder)
                is_broken = discard_broken(context)
                if not restored and not is_broken:
                    raise
                if restored:
                    context.say(f"git could not be used; restored: {', '.join(restored)}")
                if is_broken:
                    context.say(f"{context.folder} was broken, and is made again: {getattr(error, 'message', error)}")
                if is_broken and isinstance(args, effects.CheckArgs):
                    result = check.broke_worktree(args, context, error)
                else:
                    context = await self.copies.context_for(args)
                    result = await self._call(args, context, job)
            result = self.delivery.stamp(result)
            return result, await evidence(args, result, context)
        except (UserError, RunError) as error:
            raise MachineError(error.message, remedy=error.remedy, payload=error.payload) from error

    async def _call(self, args: Arguments[Any], context: RunContext, job: Job) -> Result:
        if args.kind not in known_files.GIVERS:
            known_files.take_over(context, args.kind)  # it may change files
        if isinstance(args, effects.CommitArgs | effects.MergeArgs):
            context = msgspec.structs.replace(context, journal_head=_head_at_request(job))
        return await self.function(args, context)

    async def clear(self, job: Job) -> None:
        """Leave everything: there is nothing to clean up."""


def _head_at_request(job: Job) -> str | None:
    """Return the head of the journal that ends with the request: every attempt has the same one."""
    seq = job.effect.request.seq
    head = head_at(job.run, seq)
    return None if head is None else format_head(seq, head)
