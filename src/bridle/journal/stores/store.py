"""The interface of a journal's store; one conformance suite tests every implementation.

One store is one run. Reading is always possible. Only a writer appends, and there is one writer at a time:

- A writer's call is durable when it returns. After a crash all calls that returned are recorded, and the interrupted
  one completely or not at all.
- Entries are numbered 1, 2, 3 without a gap and their ids increase, whatever the clock does.
- A reader gets complete, verified entries, always a prefix of the journal.
- A writer's epoch is never smaller than that of an earlier writer, and greater once that one has appended. A store
  whose lock can be lost while its holder still runs (a lease in a database) rejects the append of a writer after a
  greater epoch was assigned. With a kernel lock no writer outlives its lock, and the epoch only distinguishes writers.
- A writer that has finished or failed leaves nothing half written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from bridle.journal.format.documents import RunMetadata, TaskDocument
from bridle.journal.format.entries import Effect, Entry, Posted, Request, Result
from bridle.journal.format.state import Position, State

# A writer holds the lock for one command, some seconds at most. After this long the error names the holder. The other
# implementation of the format waits as long.
LOCK_WAIT_SECONDS = 10.0


class Writer(Protocol):
    """A writer, which holds the lock until the end of the `with` block."""

    @property
    def epoch(self) -> int:
        """Return the epoch, greater than that of an earlier writer that has appended."""
        ...

    @property
    def state(self) -> State:
        """Return the present state, including this writer's entries."""
        ...

    @property
    def position(self) -> Position:
        """Return the summary of the state, at constant cost."""
        ...

    def new_id(self) -> str:
        """Return a new ULID, greater than every id in the journal and every id of this writer."""
        ...

    def append(self, entry_type: str, data: Mapping[str, object]) -> Entry:
        """Append one entry."""
        ...

    def request(self, request: Request) -> Entry:
        """Store the task, then append EFFECT_REQUESTED."""
        ...

    def resolve(self, effect_id: str, posted: Posted, *, key: str | None = None) -> Entry:
        """Store the result, then append EFFECT_RESOLVED.

        Raise an EffectError for an unknown or resolved effect and for a wrong key; nothing is written then.
        """
        ...

    def write_output(self, value: object) -> str:
        """Store the output of the process; return the reference for RUN_COMPLETED."""
        ...


class Store(Protocol):
    """One run: its journal, tasks, results and inputs."""

    def metadata(self) -> RunMetadata:
        """Return the content of `run.json`, verified by the first entry."""
        ...

    def inputs(self, created: Entry | None) -> object:
        """Return the inputs of the run, verified by its first entry; None without inputs."""
        ...

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        """Yield the entries after that number in order, verified."""
        ...

    def position(self) -> Position:
        """Return the summary of the run's state, at constant cost."""
        ...

    def state(self) -> State:
        """Return the full state of the run."""
        ...

    def task(self, effect: Effect) -> TaskDocument:
        """Return an effect's `task.json` with its inputs, verified."""
        ...

    def inputs_digest(self, effect: Effect) -> str:
        """Return the digest of an effect's arguments; see `digest_of`."""
        ...

    def result(self, effect: Effect) -> Result:
        """Return the result of a resolved effect, verified; the caller must not modify it."""
        ...

    def verify_tasks(self, effects: Iterable[Effect]) -> None:
        """Raise JournalBroken if a task of these effects was changed."""
        ...

    def verify_results(self, effects: Iterable[Effect]) -> None:
        """Raise JournalBroken if a result of these effects was changed."""
        ...

    def output(self, ended: Entry | None) -> object:
        """Return the output of a completed run, verified by its last entry."""
        ...

    def write(self, owner: str, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> AbstractContextManager[Writer]:
        """Return a writer under the run's lock; raise LockHeld with the holder after the wait."""
        ...
