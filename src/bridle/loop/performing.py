"""Joins the loop's effects to the driver: each is a function of its arguments and the bench."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from bridle.engine.perform import Job, Performer, Unperformed, masked
from bridle.ground import clock
from bridle.journal.entries import OK, Posted
from bridle.loop.bench import Bench
from bridle.loop.watching import Began, Ended

Act = Callable[[dict[str, Any], Bench], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class BenchPerformer:
    """Performs one kind of effect at a bench; all of them can be repeated."""

    act: Act
    bench: Bench

    @property
    def may_repeat(self) -> bool:
        """What was done already is found and not done twice."""
        return True

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Do it; its value has no secret in it."""
        started = clock.iso(clock.now())
        inputs = job.task.get("inputs")
        args = dict(inputs) if isinstance(inputs, Mapping) else {}
        self.bench.watch(Began(job.effect.kind, args))
        value = masked(await self.act(args, self.bench), job.mask)
        self.bench.watch(Ended(job.effect.kind, args, value))
        return Posted(OK, value=value, started_at=started, finished_at=clock.iso(clock.now()))

    async def clear(self, job: Job) -> None:
        """Nothing is left to take away."""


def performers(acts: Mapping[str, Act], bench: Bench) -> dict[str, Performer]:
    """A performer for each kind."""
    return {kind: BenchPerformer(act, bench) for kind, act in acts.items()}
