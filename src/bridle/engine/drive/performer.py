"""The interface of performers, which execute the effects of one kind."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from bridle.engine.entries.effect_attempts import EffectAttempts
from bridle.errors import Error
from bridle.ground import clock, disk
from bridle.journal.format import layout
from bridle.journal.format.documents import TaskDocument
from bridle.journal.format.entries import ERROR, Effect, Posted
from bridle.wire.mask import Mask

Say = Callable[[str], None]
AppendEntry = Callable[[str, Mapping[str, object]], Awaitable[None]]

LIMIT = "limit"
UNUSABLE = "unusable"


class Unperformed(Struct, frozen=True):
    """An effect that cannot be executed now: it stays pending, and the driver ends."""

    why: str
    """`limit`: a budget or a usage limit is reached. `unusable`: the agent is missing, not logged in or offline."""
    error: Error


@dataclass(frozen=True)
class Job:
    """One effect to execute, and what its performer may use."""

    effect: Effect
    task: TaskDocument
    known: EffectAttempts
    """The earlier attempts."""
    attempt: int
    run: Path
    """The run's folder."""
    repository: Path
    is_parallel: bool
    """Whether an agent may run for another effect at the same time."""
    environment: Mapping[str, str] = field(repr=False)
    mask: Mask = field(repr=False)
    say: Say = field(repr=False)
    append_entry: AppendEntry = field(repr=False)
    """Appends an entry to the journal."""

    @property
    def name(self) -> str:
        return self.effect.label or self.effect.task_id

    def folder(self) -> Path:
        """Return the folder of its files; create it if missing."""
        return disk.make_private_folder(self.run / layout.TASKS / self.effect.effect_id)


class Performer(Protocol):
    """Executes the effects of one kind."""

    @property
    def may_repeat(self) -> bool:
        """Return whether an interrupted effect may be executed again without asking the user."""
        ...

    async def perform(self, job: Job) -> Posted | Unperformed:
        """Execute an effect; a UserError or RunError becomes its result, any other error ends the driver."""
        ...

    async def clear(self, job: Job) -> None:
        """Remove temporary files; the result is in the journal, or no longer needed."""
        ...


def error_result(error: Error, started: str, mask: Mask) -> Posted:
    """Return the result of an effect that could not be executed as requested."""
    fields = {"name": type(error).__name__, "message": mask.apply(str(error))}
    return Posted(ERROR, error=fields, started_at=started, finished_at=clock.iso(clock.now()))
