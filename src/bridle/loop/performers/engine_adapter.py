"""Joins the loop's effects to the driver: each is a function of its arguments and the bench."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bridle.engine.drive.performer import Job, Performer, Unperformed, masked
from bridle.errors import MachineError, RunError, UserError
from bridle.ground import clock
from bridle.journal.format.entries import OK, Posted
from bridle.loop.performers.evidence import evidence
from bridle.loop.performers.working_copies import Worktrees
from bridle.loop.process.active_time import CLOCK, clock_of
from bridle.loop.progress_events import EffectFinished, EffectStarted
from bridle.loop.working_copy.run_context import RunContext

Act = Callable[[dict[str, Any], RunContext], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class BenchPerformer:
    """Performs one kind of effect at a bench; all of them can be repeated."""

    kind: str
    act: Act
    places: Worktrees
    since: str
    """When the driver that it works for counts from."""

    @property
    def may_repeat(self) -> bool:
        """What was done already is found and not done twice."""
        return True

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Do it; its value has no secret in it."""
        started = clock.iso(clock.now())
        inputs = job.task.get("inputs")
        args = dict(inputs) if isinstance(inputs, Mapping) else {}
        watch = self.places.bench.watch
        watch(EffectStarted(self.kind, args))
        raw, proof = await self._acted(args)
        value = masked(raw, job.mask)
        ended = clock.iso(clock.now())
        value[CLOCK] = clock_of(self.since, ended)
        watch(EffectFinished(self.kind, args, value))
        return Posted(OK, value=value, started_at=started, finished_at=ended, metadata=proof or None)

    async def _acted(self, args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """What came of it, and what proves it; what cannot be done now ends the driver, and is done by the next one.

        As a result of the effect it would be in the journal for good, and the run could never go on.
        """
        try:
            bench = await self.places.bench_for(self.kind, args)
            value = await self.act(args, bench)
            return value, await evidence(value, bench)
        except (UserError, RunError) as error:
            raise MachineError(error.message, remedy=error.remedy, payload=error.payload) from error

    async def clear(self, job: Job) -> None:
        """Nothing is left to take away."""


def performers(acts: Mapping[str, Act], places: Worktrees, *, since: str) -> dict[str, Performer]:
    """A performer for each kind, for a driver whose time counts from `since`."""
    return {kind: BenchPerformer(kind, act, places, since) for kind, act in acts.items()}
