"""The record of events that are added at once, against that of the same events one by one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.events.decode import decode_stream
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder, record_events
from bridle.wire.record.report import report_document

RESULT = b'{"type":"result","subtype":"success","result":"done"}'
LINES = [b"x", b"{", b"{x", b" {", b"1", b"[]", b"{}", b'{"type":"x"}', b'{"type":"assistant"', RESULT]
LINES += [b'{"type":"system","subtype":"init","session_id":"s"}']


@given(st.lists(st.sampled_from(LINES)).map(b"\n".join))
def test_events_that_are_added_at_once_make_the_same_record(log: bytes) -> None:
    events, recorder = list(decode_stream([log])), Recorder()
    recorder.add_all(events)
    assert facts(recorder.record) == facts(record_events(events))


def facts(record: Record) -> tuple[Any, ...]:
    return record.is_turn_open, record.events, report_document(record, judge(record, Ending()))


def test_garbage_is_counted_and_the_first_lines_of_it_are_kept() -> None:
    recorder = Recorder()
    recorder.add_all(list(decode_stream([RESULT + b"\n" + b"x\n" * 5 + b"1\n{\ny\n{}\n"])))
    record = recorder.record
    assert (record.events, record.parse_errors, record.ignored, record.unknown_events) == (10, 7, 1, 1)
    assert record.malformed == ["x", "x", "x"]
    assert record.is_turn_open
    assert not record_events(decode_stream([RESULT + b"\nx\n}{\n"])).is_turn_open
