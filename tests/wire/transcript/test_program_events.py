"""Events of the agent program, and lines that are not events."""

from __future__ import annotations

import random

from bridle.wire.events.decode import decode_stream
from bridle.wire.transcript.items import (
    Failure,
    Notice,
    NoticeKind,
    Speaker,
    TextItem,
    UnknownItem,
)
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import (
    add_line,
    assistant_line,
    kinds,
    text,
    texts,
    transcript_of,
)


def test_a_line_that_is_not_json_is_a_text_and_a_broken_event_is_an_error() -> None:
    transcript = transcript_of(
        "npm warn something", '{"type":"assistant","message":{"content":[{"type":"te', '{"type":"new","x":1}'
    )
    stray, broken, unknown = transcript.items()
    assert isinstance(stray, TextItem)
    assert (stray.text, stray.speaker) == ("npm warn something", Speaker.STRAY)
    assert isinstance(broken, Failure)
    assert broken.name == "broken line"
    assert isinstance(unknown, UnknownItem)
    assert (unknown.kind, unknown.raw) == ("new", '{"type":"new","x":1}')


def test_an_unknown_block_is_shown_beside_its_neighbours() -> None:
    transcript = transcript_of(assistant_line(text("a"), {"type": "hologram", "x": 1}, text("b")))
    assert kinds(transcript.items()) == ["TextItem", "UnknownItem", "TextItem"]


def test_limits_and_a_later_session_are_notices() -> None:
    transcript = transcript_of(
        {"type": "system", "subtype": "init", "model": "m", "session_id": "s", "tools": []},
        {
            "type": "rate_limit_event",
            "rate_limit_info": {"status": "rejected", "rateLimitType": "five_hour", "resetsAt": 1794704457},
        },
        {"type": "system", "subtype": "init", "model": "m", "session_id": "s", "tools": []},
        {"type": "system", "subtype": "init", "model": "n", "session_id": "s", "tools": []},
    )
    notices = [(item.kind, item.text) for item in transcript.items() if isinstance(item, Notice)]
    assert notices == [
        (NoticeKind.SESSION, "s\nm"),
        (NoticeKind.RATE_LIMIT, "rejected (five hour), resets 2026-11-15 01:00 UTC"),
        (NoticeKind.SESSION, "s\nn"),
    ]


def test_stray_lines_in_a_row_are_one_text_that_is_cut() -> None:
    transcript = transcript_of("Traceback", "  File x", assistant_line(text("a")), "one more")
    assert texts(transcript) == ["Traceback\n  File x", "a", "one more"]
    transcript = Transcript(kept_characters=20)
    for _ in range(10):
        add_line(transcript, "nine char")
    (item,) = transcript.items()
    assert isinstance(item, TextItem)
    assert (item.text, item.omitted_characters) == ("nine char\nnine char\n", 10 * 10 - 1 - 20)


def test_binary_garbage_makes_few_items_of_bounded_size() -> None:
    """`make bench` measures what it costs; here its work is counted."""
    transcript, events = Transcript(kept_characters=1000), 0
    noise = random.Random(8).randbytes(1_000_000)  # noqa: S311  # the same bytes in every run, not a secret
    for event in decode_stream([noise]):
        events += 1
        transcript.add(event)
    assert events > 1000
    assert len(transcript.items()) < 20
    assert sum(len(item.text) for item in transcript.items() if isinstance(item, TextItem)) <= 20 * 1000


def test_lines_that_are_not_events_make_one_item_however_many_they_are() -> None:
    for line in (b"x", b"{", b"[", b'"', b"1", b"null", b"[]", b"{}", b'{"type":'):
        transcript = Transcript(kept_characters=100)
        for event in decode_stream([(line + b"\n") * 1000]):
            transcript.add(event)
        (item,) = transcript.items()
        assert isinstance(item, TextItem | Failure)
        assert len(item.text) == 100
        shown_line = len(line) + 1 + (len("not a JSON value\n") if line.startswith(b'{"type') else 0)
        assert len(item.text) + item.omitted_characters == 1000 * shown_line - 1, line


def test_lines_that_are_not_events_after_an_event_are_an_item_of_their_own() -> None:
    transcript = transcript_of("x", "1", assistant_line(text("a")), '{"type":', '{"type":"us', "y")
    assert kinds(transcript.items()) == ["TextItem", "TextItem", "Failure", "TextItem"]
    assert texts(transcript) == ["x\n1", "a", "y"]


def test_unknown_events_of_one_kind_make_one_item_however_many_they_are() -> None:
    transcript = Transcript(kept_characters=1000)
    for event in decode_stream([b'{"type":"x"}\n' * 5000 + b'{"type":"y"}\n{"type":"x"}\n']):
        transcript.add(event)
    first, second, third = (item for item in transcript.items() if isinstance(item, UnknownItem))
    assert len(first.raw) <= 1000
    assert first.raw.startswith('{"type":"x"}\n{"type":"x"}\n')
    assert len(first.raw) + first.omitted_characters >= 5000 * 13 - 10
    assert (second.kind, third.kind, third.raw) == ("y", "x", '{"type":"x"}')
