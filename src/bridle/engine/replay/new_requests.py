"""Requests of a process that are not in the journal yet."""

from __future__ import annotations

from typing import Any, NamedTuple

from bridle.engine.replay.event_loop import Promise
from bridle.journal.format.entries import Request


class NewEntry(NamedTuple):
    """An entry to append."""

    entry_type: str
    data: dict[str, Any]


class NewEffect(NamedTuple):
    """An effect to request."""

    request: Request
    promise: Promise


class HookRequest(NamedTuple):
    """A native hook that the process waits for."""

    hook_id: str
    hook_type: str
    payload: Any
    label: str | None
    limit_seconds: float


class HaltRequest(NamedTuple):
    """The end of a run by `ctx.halt`."""

    reason: str
    payload: Any
