"""What holds for any bytes at all."""

from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.events.blocks import KNOWN_BLOCKS
from bridle.wire.events.decode import Decoder, decode_stream
from bridle.wire.events.events import Event, Skipped
from bridle.wire.events.system import SYSTEM_KINDS
from bridle.wire.record.outcome import Ending, Rules, judge
from bridle.wire.record.policy import Policy
from bridle.wire.record.recorder import Recorder
from bridle.wire.record.report import report_document, report_json

# Everything that is stripped or skipped on the way: line ends, padding, and blanks between values.
DROPPED = bytes.maketrans(b"", b"")
BLANKS = b" \t\n\r\0\x0b\x0c\x1c\x1d\x1e\x1f"

TYPES = [
    "assistant",
    "user",
    "result",
    "stream_event",
    "rate_limit_event",
    "control_request",
    "control_response",
    "control_cancel_request",
    "keep_alive",
    "system",
    "other",
]
# Names of fields that the decoder and the recorder read: a value of any type may stand there.
FIELDS = [
    "type",
    "subtype",
    "message",
    "content",
    "text",
    "id",
    "name",
    "input",
    "tool_use_id",
    "parent_tool_use_id",
    "session_id",
    "usage",
    "input_tokens",
    "output_tokens",
    "is_error",
    "result",
    "errors",
    "num_turns",
    "duration_ms",
    "total_cost_usd",
    "modelUsage",
    "permission_denials",
    "structured_output",
    "api_error_status",
    "stop_reason",
    "error",
    "tools",
    "rate_limit_info",
    "status",
    "resetsAt",
    "request",
    "response",
    "event",
    "run_in_background",
    "tool_use_result",
    "patch",
]

ODD_NUMBERS = st.sampled_from([0, 1, -1, 2**53, 2**70, 10**300, 1e308, float("nan"), float("inf"), -float("inf"), 7.9])
ODD_TEXTS = st.sampled_from(
    ["", "?", "\ud83d", "\udcb2x", "\0", "\u2028", "429", "end_turn", "AskUserQuestion", "Task", "|1771606800"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ODD_NUMBERS | ODD_TEXTS | st.text(max_size=8)
KINDS = st.sampled_from([*TYPES, *KNOWN_BLOCKS, *SYSTEM_KINDS])
VALUES = st.recursive(
    SCALARS | KINDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=6,
)
BLOCKS = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from([*KNOWN_BLOCKS, "new", 5]),
    st.dictionaries(
        st.sampled_from(["text", "id", "name", "input", "content", "tool_use_id", "is_error"]), VALUES, max_size=3
    ),
)
MESSAGES = st.builds(
    lambda content, fields: {**fields, "content": content},
    st.lists(BLOCKS, max_size=3) | VALUES,
    st.dictionaries(st.sampled_from(["id", "usage", "stop_reason", "role"]), VALUES, max_size=2),
)
LINES = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.sampled_from([*TYPES, None, 5]),
    st.dictionaries(st.sampled_from([*FIELDS, "message", "message"]), MESSAGES | VALUES, max_size=5)
    | st.builds(
        lambda kind, fields: {**fields, "subtype": kind},
        KINDS,
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=3),
    ),
)


def events_of(chunks: list[bytes], *, limit_bytes: int = 1 << 20) -> list[Event]:
    return list(decode_stream(chunks, limit_bytes=limit_bytes))


def carried_through(events: list[Event], ending: Ending, rules: Rules) -> dict[str, Any]:
    recorder = Recorder()
    recorder.add_all(events)
    read: dict[str, Any] = json.loads(
        report_json(report_document(recorder.record, judge(recorder.record, ending, rules)))
    )
    return read


@given(data=st.binary(max_size=400))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    carried_through(events_of([data]), Ending(), Rules())


@given(
    pieces=st.lists(
        st.binary(max_size=20) | st.sampled_from([b'{"type":"user"}', b"\n", b"{", b'"', b"[", b"NaN", b"}"]),
        max_size=20,
    )
)
def test_bytes_that_look_like_lines_never_raise(pieces: list[bytes]) -> None:
    carried_through(events_of([b"".join(pieces)]), Ending(), Rules())


@given(data=st.binary(max_size=300), cuts=st.lists(st.integers(0, 300), max_size=5))
def test_any_split_yields_equal_events(data: bytes, cuts: list[int]) -> None:
    edges = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    pieces = [data[start:end] for start, end in itertools.pairwise(edges)]
    split, whole = events_of(pieces, limit_bytes=100), events_of([data], limit_bytes=100)
    assert split == whole
    assert [event.raw for event in split] == [event.raw for event in whole]


@given(
    lines=st.lists(LINES, max_size=4),
    exit_code=st.integers(-20, 255) | st.none(),
    timed_out=st.booleans(),
    policy=st.sampled_from(Policy),
    stderr=st.text(max_size=5),
)
def test_events_with_wrong_types_never_raise_and_always_have_a_document(
    lines: list[Any], exit_code: int | None, timed_out: bool, policy: Policy, stderr: str
) -> None:
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    events = events_of([data])
    assert len(events) == len(lines)
    ending = Ending(exit_code=exit_code, timed_out=timed_out, stderr=stderr, expected_session="s")
    read = carried_through(events, ending, Rules(policy=policy))
    assert read["parse_errors"] == 0
    assert read["events"] == len(lines)


@given(lines=st.lists(LINES | VALUES, max_size=3), noise=st.binary(max_size=30))
def test_every_event_keeps_its_bytes(lines: list[Any], noise: bytes) -> None:
    data = b"\n".join([noise, *(json.dumps(line).encode() for line in lines), noise])
    events = events_of([data])
    assert not any(isinstance(event, Skipped) for event in events)
    assert _kept(b"".join(event.raw for event in events)) == _kept(data)


@given(lines=st.lists(LINES, min_size=1, max_size=3))
def test_objects_glued_on_one_line_are_the_events_of_separate_lines(lines: list[Any]) -> None:
    texts = [json.dumps(line).encode() for line in lines]
    glued, separate = events_of([b"".join(texts)]), events_of([b"\n".join(texts)])
    assert glued == separate
    assert [event.raw for event in glued] == [event.raw for event in separate]


@given(lines=st.lists(LINES, max_size=2))
def test_a_decoder_fed_byte_by_byte_keeps_nothing_behind(lines: list[Any]) -> None:
    decoder = Decoder()
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    fed = [event for byte in data for event in decoder.feed(bytes([byte]))]
    assert decoder.end() == []
    assert fed == events_of([data])


def _kept(data: bytes) -> bytes:
    """The bytes without those that never belong to an event: padding and blanks."""
    text = data.replace(b"\xef\xbb\xbf", b"").translate(DROPPED, BLANKS).decode("utf-8", "surrogateescape")
    return "".join(text.split()).encode("utf-8", "surrogateescape")
