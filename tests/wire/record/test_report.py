"""The JSON document: every value of it can be read by every JSON parser."""

from __future__ import annotations

import json

import msgspec

from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.record import Record
from bridle.wire.record.report import report_document, report_json
from tests.wire.fixtures.stream_lines import encode_lines, init, inspected_bytes


def test_lone_surrogates_become_the_replacement_character() -> None:
    fault = "cannot write /home/caf\udce9"
    document = report_document(Record(), judge(Record(), Ending(fault=fault, exit_code=None)))
    printed = report_json({**document, "key \ud83d": ["\ud83d\ude00", ("\udcb2",)]})
    assert printed.isascii()
    decoded = msgspec.json.decode(printed)  # a strict parser, which refuses a lone surrogate
    assert decoded["error"] == "cannot write /home/caf\ufffd"
    assert decoded["key \ufffd"] == ["\U0001f600", ["\ufffd"]]


def test_a_value_that_json_cannot_hold_becomes_null_and_the_rest_is_kept() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    printed = json.loads(report_json({"a": float("nan"), "b": deep, "c": "\ud800", "d": 1}))
    assert printed == {"a": None, "b": None, "c": "\ufffd", "d": 1}


def test_a_stream_with_half_an_emoji_is_reported_without_it() -> None:
    line = '{"type":"result","subtype":"success","is_error":false,"result":"half \\ud83d","errors":["\\udc00"]}'
    assert inspected_bytes(encode_lines([init(), line]))["final_text"] == "half \ufffd"
