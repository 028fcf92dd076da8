"""What every store of a journal promises; one conformance suite holds all of them to it.

One store is one run. Anybody may read at any time. Only a writer appends, and there is one writer at a time:

- What a writer's call returned is durable. A crash at any moment leaves the calls that returned, all of them, and
  at most the one that was under way, whole or not at all.
- Entries are numbered 1, 2, 3 without a gap and their ids rise, whatever the clock does.
- A reader sees whole entries only, verified, and always a beginning of the journal.
- A writer's epoch is never smaller than that of a writer before it, and greater once that one has appended. A store
  whose lock can be lost while its holder still runs (a lease in a database) refuses the append of a writer when a
  greater epoch has been given out. Where the kernel holds the lock no writer outlives its turn, and the number only
  tells turns apart.
- A writer that is done, or was refused, has left nothing half done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from bridle.journal.format.entries import Effect, Entry, Posted, Request, Result
from bridle.journal.format.state import Position, State

# A writer holds its turn for the time of one command, some seconds at most; who has not got it after this long
# is told who is in the way. The format's other implementation waits as long.
TURN_WAIT_SECONDS = 10.0


class Writer(Protocol):
    """One turn at writing; it ends with the `with` block."""

    @property
    def epoch(self) -> int:
        """Never smaller than that of a writer before, and greater once that one has appended."""
        ...

    @property
    def state(self) -> State:
        """Everything, as it is now: this writer's own entries included."""
        ...

    @property
    def standing(self) -> Position:
        """The small part of it, which costs the same for a long run as for a short one."""
        ...

    def new_id(self) -> str:
        """A fresh ULID, greater than every id in the journal and every one that this writer gave out."""
        ...

    def append(self, entry_type: str, data: Mapping[str, object]) -> Entry:
        """Append one entry."""
        ...

    def request(self, request: Request) -> Entry:
        """Keep the task, then append EFFECT_REQUESTED."""
        ...

    def resolve(self, effect_id: str, posted: Posted, *, key: str | None = None) -> Entry:
        """Keep the result, then append EFFECT_RESOLVED.

        An effect that does not exist or is resolved already, and a key that is not its own, are refused with an
        EffectError and nothing changes.
        """
        ...

    def keep_output(self, value: object) -> str:
        """Keep what the process returned; gives the reference that RUN_COMPLETED carries."""
        ...


class Store(Protocol):
    """One run: its journal, its tasks and results, what it was created with."""

    def metadata(self) -> Mapping[str, object]:
        """What `run.json` says."""
        ...

    def inputs(self) -> object:
        """What the run was created with; None when it has no inputs."""
        ...

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """The entries behind that number, verified, in order."""
        ...

    def standing(self) -> Position:
        """Where the run stands; costs the same for a long run as for a short one."""
        ...

    def state(self) -> State:
        """Everything that the journal says."""
        ...

    def task(self, effect_id: str) -> Mapping[str, object]:
        """What `task.json` of that effect says, its inputs with it."""
        ...

    def inputs_digest(self, effect: Effect) -> str:
        """The digest of the arguments that an effect was asked for with; see `digest_of`."""
        ...

    def result(self, effect: Effect) -> Result:
        """The result of a resolved effect."""
        ...

    def output(self) -> object:
        """What the process of a completed run returned."""
        ...

    def write(self, owner: str, *, wait_seconds: float = TURN_WAIT_SECONDS) -> AbstractContextManager[Writer]:
        """Take the turn, waiting for it; LockHeld names who has it when the wait is over."""
        ...
