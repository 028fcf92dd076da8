"""What an execution of a process brings that the journal does not have yet."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridle.engine.replay.event_loop import Promise
from bridle.journal.format.entries import Request


class Note(NamedTuple):
    """An entry to append."""

    entry_type: str
    data: dict[str, Any]


class Ask(NamedTuple):
    """An effect to request."""

    request: Request
    promise: Promise


class Call(NamedTuple):
    """A native hook that the process waits for."""

    hook_id: str
    hook_type: str
    payload: Any
    label: str | None
    limit_seconds: float


class Halt(NamedTuple):
    """The process ended its run."""

    reason: str
    payload: Any
