"""Events to bytes: what is written reads back as the same event, in the order of fields that agents use."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from hypothesis import given

from bridle.wire.events.blocks import Text, ToolUse, UnknownBlock
from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.events.encode import encode
from bridle.wire.events.events import (
    Assistant,
    ControlRequest,
    Event,
    KeepAlive,
    Malformed,
    Message,
    Result,
    Skipped,
    Unknown,
    Usage,
    User,
)
from bridle.wire.events.surrogates import replace_surrogates
from bridle.wire.events.system import Init, System
from tests.wire.fixtures.claude_recordings import NAMES, recorded
from tests.wire.fixtures.event_strategies import events, known_events, refused_lines, unknown_events

# Claude Code itself writes these in more than one order: failed results put the durations before is_error, replayed
# messages the session before the parent, failure notices `error` before `request_id`, some system lines the session
# before the uuid.
ORDER_VARIES = {
    "result": {"is_error"},
    "user": {"session_id", "isReplay"},
    "assistant": {"error"},
    "system": {"session_id"},
}


@given(known_events())
def test_an_event_of_any_known_kind_decodes_to_itself(event: Event) -> None:
    assert decode(encode(event)) == [event]


@pytest.mark.parametrize("text", ["\ud83d", "x\udcb2y"])
def test_a_lone_surrogate_is_one_line_that_decodes_to_the_replacement_character(text: str) -> None:
    (event,) = decode(encode(Result(result=text, structured_output={text: [text]})))
    replaced = replace_surrogates(text)
    assert event == Result(result=replaced, structured_output={replaced: [replaced]})


@given(unknown_events())
def test_an_unknown_object_decodes_to_itself(event: Event) -> None:
    assert decode(encode(event)) == [event]


@given(refused_lines())
def test_a_line_that_is_not_an_event_decodes_to_itself(event: Event) -> None:
    assert decode(encode(event)) == [event]


@given(events())
def test_an_event_is_one_line(event: Event) -> None:
    line = encode(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


@given(events(), events())
def test_lines_of_events_make_a_stream(first: Event, second: Event) -> None:
    assert list(decode_stream([encode(first) + encode(KeepAlive()) + encode(second)])) == [first, KeepAlive(), second]


def test_a_cost_that_is_not_a_number_is_encoded_and_decoded() -> None:
    (event,) = decode(encode(Result(total_cost_usd=math.nan)))
    assert isinstance(event, Result)
    assert event.total_cost_usd is not None
    assert math.isnan(event.total_cost_usd)


@pytest.mark.parametrize("name", NAMES)
def test_every_event_of_a_recording_decodes_to_itself(name: str) -> None:
    result = list(decode_stream([recorded(name)]))
    assert [event for each in result for event in decode(encode(each))] == result


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_written_in_the_order_of_the_recording(name: str) -> None:
    for event in decode_stream([recorded(name)]):
        if isinstance(event, Malformed) or not event.raw.startswith(b"{"):
            continue
        theirs, ours = json.loads(event.raw), json.loads(encode(event))
        varies = ORDER_VARIES.get(theirs.get("type"), set())
        assert _order(theirs, ours, varies) == _order(ours, theirs, varies)


def _order(line: dict[str, object], other: dict[str, object], varies: set[str]) -> list[str]:
    return [name for name in line if name in other and name not in varies]


def test_the_type_is_first_and_null_fields_are_omitted() -> None:
    assert encode(KeepAlive()) == b'{"type":"keep_alive"}\n'
    assert encode(ControlRequest(request_id="r", request={"subtype": "interrupt"})) == (
        b'{"type":"control_request","request_id":"r","request":{"subtype":"interrupt"}}\n'
    )
    assert encode(Init(session_id="s", tools=("Bash",))) == (
        b'{"type":"system","subtype":"init","session_id":"s","tools":["Bash"]}\n'
    )


def test_fields_that_agents_always_print_are_encoded_as_null() -> None:
    line = encode(Assistant(message=Message(role="assistant", content=(Text(text="hi"),))))
    assert line == (
        b'{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},'
        b'"parent_tool_use_id":null}\n'
    )


def test_counts_of_other_agents_are_encoded_only_above_zero() -> None:
    claude = json.loads(encode(Result(usage=Usage(input_tokens=1))))["usage"]
    assert claude == {
        "input_tokens": 1,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    }
    codex = json.loads(encode(Result(usage=Usage(cached_input_tokens=2))))["usage"]
    assert codex["cached_input_tokens"] == 2


def test_an_undecoded_part_keeps_its_exact_bytes_unless_they_contain_a_newline() -> None:
    spaced = ToolUse(id="t", name="Bash", input=msgspec.Raw(b'{"command" : 1.50}'))
    assert b'"input":{"command" : 1.50}' in encode(Assistant(message=Message(content=(spaced,))))
    broken = ToolUse(id="t", name="Bash", input=msgspec.Raw(b'{\n  "command": "ls"\n}'))
    assert b'"input":{"command":"ls"}' in encode(Assistant(message=Message(content=(broken,))))


def test_unknown_parts_are_written_as_they_were() -> None:
    block = UnknownBlock(value={"type": "document", "z": 1, "a": 2})
    assert b'"content":[{"type":"document","z":1,"a":2}]' in encode(User(message=Message(content=(block,))))
    assert encode(Unknown(kind="new", value={"a": 1, "type": "new"})) == b'{"a":1,"type":"new"}\n'
    assert encode(System(subtype="mode")) == b'{"type":"system","subtype":"mode"}\n'


def test_a_line_whose_bytes_were_not_kept_is_an_empty_one() -> None:
    assert encode(Skipped(size_bytes=100)) == b"\n"


def test_text_with_newlines_is_encoded_in_one_line() -> None:
    assert encode(Malformed(raw=b"two\nlines")) == b"two lines\n"
