"""The recordings of agents other than Claude Code, and the way from an agent's lines to facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bridle.wire.dialects.dialect_table import AGENTS, decoder_for
from bridle.wire.events.events import Event
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.recorder import record_events
from bridle.wire.record.report import report_document
from tests.wire.streams import Line, printed

FOLDER = Path(__file__).parents[2] / "recordings"
DIALECTS = [agent for agent in AGENTS if agent != "claude"]
NAMES = sorted(f"{agent}/{path.stem}" for agent in DIALECTS for path in (FOLDER / agent).glob("*.ndjson"))


def recorded(name: str) -> bytes:
    """What the agent printed to stdout."""
    return (FOLDER / f"{name}.ndjson").read_bytes()


def agent_of(name: str) -> str:
    """The agent that a recording is of."""
    return name.partition("/")[0]


def read(agent: str, *chunks: bytes) -> list[Event]:
    """The events of a whole run, given in these chunks."""
    decoder = decoder_for(agent)
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.end()


def events_of(agent: str, *lines: Line | str | bytes) -> list[Event]:
    """The events of these lines."""
    return read(agent, printed(lines))


def inspected(agent: str, *lines: Line | str | bytes, ending: Ending | None = None) -> dict[str, Any]:
    """The document for these lines."""
    return documented(events_of(agent, *lines), ending)


def documented(events: list[Event], ending: Ending | None = None) -> dict[str, Any]:
    """The document for these events."""
    record = record_events(events)
    return report_document(record, judge(record, ending))
