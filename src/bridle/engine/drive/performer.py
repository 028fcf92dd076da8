"""What performing an effect is: a job, whoever does it, and what comes of it. One performer for each kind of effect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from bridle.engine.entries.effect_attempts import EffectAttempts
from bridle.errors import Error
from bridle.ground import clock, disk
from bridle.journal.format import layout
from bridle.journal.format.entries import ERROR, Effect, Posted
from bridle.wire.mask import Mask

Say = Callable[[str], None]
Note = Callable[[str, Mapping[str, object]], Awaitable[None]]

LIMIT = "limit"
UNUSABLE = "unusable"


@dataclass(frozen=True)
class Unperformed:
    """An effect that could not be performed now and waits on: nothing is posted, the driver ends."""

    why: str
    """`limit`: a budget or an account is used up. `unusable`: the agent is missing or not logged in."""
    error: Error


@dataclass(frozen=True)
class Job:
    """One effect to be performed, and all that its performer may use."""

    effect: Effect
    task: Mapping[str, Any]
    known: EffectAttempts
    """What earlier attempts left."""
    attempt: int
    run: Path
    """The run's folder."""
    repository: Path
    is_side_by_side: bool
    """Whether an agent can be at work on another effect at the same time."""
    environment: Mapping[str, str] = field(repr=False)
    mask: Mask = field(repr=False)
    say: Say = field(repr=False)
    note: Note = field(repr=False)
    """Appends an entry to the journal."""

    @property
    def name(self) -> str:
        """What it is called, for people."""
        return self.effect.label or self.effect.task_id

    def folder(self) -> Path:
        """The folder of its files, made if need be."""
        return disk.make_private_folder(self.run / layout.TASKS / self.effect.effect_id)


class Performer(Protocol):
    """Performs effects of one kind."""

    @property
    def may_repeat(self) -> bool:
        """Whether one that was under way when its driver ended may be done again without asking anybody."""
        ...

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Do it, to its end; a UserError or a RunError is the effect's own, any other ends the driver."""
        ...

    async def clear(self, job: Job) -> None:
        """Take away what performing it needed; its result is in the journal, or nobody wants one any more."""
        ...


def failure(error: Error, started: str, mask: Mask) -> Posted:
    """The result of an effect that could not be done as it was asked for."""
    told = {"name": type(error).__name__, "message": mask.apply(str(error))}
    return Posted(ERROR, error=told, started_at=started, finished_at=clock.iso(clock.now()))


def masked(value: Any, mask: Mask) -> Any:
    """The same JSON without secrets in its texts."""
    if isinstance(value, str):
        return mask.apply(value)
    if isinstance(value, Mapping):
        return {mask.apply(str(name)): masked(item, mask) for name, item in value.items()}
    return [masked(item, mask) for item in value] if isinstance(value, (list, tuple)) else value
