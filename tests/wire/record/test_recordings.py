"""Every recording of the real Claude Code against a golden document and against facts written by hand."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.wire.events.blocks import ToolResult, ToolUse
from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.events.decode_tolerant import decode_tolerantly
from bridle.wire.events.events import Assistant, ControlRequest, ControlResponse, Event, Result, StreamEvent, User
from bridle.wire.events.lines import Lines, Oversize
from tests.wire.fixtures.claude_recordings import FOLDER, NAMES, ending_of, recorded
from tests.wire.fixtures.stream_lines import inspected_bytes

GOLDEN = Path(__file__).parent / "golden"
FACTS_FILE = Path(__file__).parent / "facts.txt"
REWRITE = "BRIDLE_REWRITE"
# Read before the tests begin: they run without the variables of whoever started them.
REWRITING = bool(os.environ.get(REWRITE))
FEWEST_FACTS = 3


def read_facts() -> dict[str, dict[str, Any]]:
    lines = FACTS_FILE.read_text(encoding="utf-8").splitlines()
    facts = {}
    for line in lines:
        if line.startswith("#"):
            continue
        name, *parts = line.split(" | ")
        pairs = (part.split("=", 1) for part in parts)
        facts[name] = {field: json.loads(value) for field, value in pairs}
    return facts


FACTS = read_facts()


def test_there_is_no_recording_without_a_golden_document_and_three_facts() -> None:
    assert set(FACTS) == set(NAMES)
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(NAMES)
    assert all(len(facts) >= FEWEST_FACTS for facts in FACTS.values())
    assert len(NAMES) == len(list(FOLDER.glob("*.ndjson"))) > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_has_its_golden_document(name: str) -> None:
    document = inspected_bytes(recorded(name), ending_of(name))
    path = GOLDEN / f"{name}.json"
    if REWRITING:
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert document == json.loads(path.read_text(encoding="utf-8")), f"{REWRITE}=1 writes it anew; read the difference"


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_has_the_facts_that_a_reader_saw(name: str) -> None:
    events = list(decode_stream([recorded(name)]))
    document = inspected_bytes(recorded(name), ending_of(name))
    result = {field: _fact(field, document, events) for field in FACTS[name]}
    assert result == FACTS[name]


@pytest.mark.parametrize("name", NAMES)
def test_the_fast_and_the_tolerant_path_yield_the_same_events(name: str) -> None:
    lines = Lines()
    for line in [*lines.feed(recorded(name)), *lines.end()]:
        assert not isinstance(line, Oversize)
        fast, tolerant = decode(line), decode_tolerantly(line)
        assert fast == tolerant
        assert [event.raw for event in fast] == [event.raw for event in tolerant] == [line]


def _fact(field: str, document: dict[str, Any], events: list[Event]) -> Any:
    word, _, number = field.partition(" ")
    if word == "line":
        index = int(number)
        return described(events[index - 1 if index > 0 else index])
    derived: dict[str, Callable[[], Any]] = {
        "session": lambda: (document["session_id"] or "")[:8],
        "calls": lambda: " ".join(call.name for call in calls(events)),
        "failed": lambda: " ".join(failed_calls(events)),
        "lines": lambda: len(events),
        "denied": lambda: " ".join(denial["tool_name"] for denial in document["permission_denials"]),
        "tool_count": lambda: len(document["tools"]),
    }
    return derived[field]() if field in derived else document[field]


def calls(events: list[Event]) -> list[ToolUse]:
    return [call for event in events if isinstance(event, Assistant) for call in event.tool_uses]


def failed_calls(events: list[Event]) -> list[str]:
    """The names of the calls that failed, in the order in which they were made."""
    failed = {block.tool_use_id for block in results(events) if block.is_error is True}
    return [call.name for call in calls(events) if call.id in failed]


def results(events: list[Event]) -> list[ToolResult]:
    users = (event for event in events if isinstance(event, User))
    return [block for event in users for block in event.message.blocks if isinstance(block, ToolResult)]


def described(event: Event) -> str:
    """One line of a stream in a few words."""
    match event:
        case User(message=message) if isinstance(message.content, str):
            return "user string"
        case Assistant() | User():
            return _described_message(event)
        case Result(subtype=subtype):
            return f"result {subtype}"
        case StreamEvent():
            return f"stream_event {event.data['type']}"
        case ControlRequest():
            return f"control_request {event.subtype}"
        case ControlResponse():
            return f"control_response {event.subtype}"
        case _:
            return f"system {event.subtype}" if hasattr(event, "subtype") else type(event).__name__


def _described_message(event: Assistant | User) -> str:
    block = event.message.blocks[0]
    if isinstance(block, ToolResult):
        return f"tool_result {block.tool_use_id}"
    who = "assistant" if isinstance(event, Assistant) else "user"
    thread = f" of {event.parent_tool_use_id}" if event.parent_tool_use_id else ""
    return f"{who} {type(block).__name__.lower()}{thread}"
