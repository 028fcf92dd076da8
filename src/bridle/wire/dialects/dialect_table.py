"""The agents whose output can be decoded, and their decoders."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from bridle.errors import UsageError
from bridle.wire.events.events import Event
from bridle.wire.events.lines import LINE_LIMIT_BYTES

_DECODERS: dict[str, tuple[str, str]] = {
    "claude": ("bridle.wire.events.decode", "Decoder"),
    "codex": ("bridle.wire.dialects.codex", "Codex"),
    "gemini": ("bridle.wire.dialects.gemini", "Gemini"),
    "opencode": ("bridle.wire.dialects.opencode", "OpenCode"),
    "cursor": ("bridle.wire.dialects.cursor", "Cursor"),
    "amp": ("bridle.wire.dialects.amp", "Amp"),
}
AGENTS: tuple[str, ...] = tuple(_DECODERS)
DEFAULT_AGENT = "claude"
_DROP_INS = {"bridle-agent": "claude"}  # programs that print the events of another one


class StreamDecoder(Protocol):
    """An incremental decoder of one agent run's output."""

    def feed(self, chunk: bytes) -> list[Event]:
        """Add bytes; return the events that they complete."""

    def end(self) -> list[Event]:
        """Return the events that were still incomplete."""


def decoder_for(agent: str, *, limit_bytes: int = LINE_LIMIT_BYTES) -> StreamDecoder:
    dialect = _DROP_INS.get(agent, agent)
    if dialect not in _DECODERS:
        raise UsageError(f"unknown agent: {agent!r}", remedy=f"Use one of: {', '.join(AGENTS)}.")
    module, name = _DECODERS[dialect]
    return cast("StreamDecoder", getattr(import_module(module), name)(limit_bytes=limit_bytes))
