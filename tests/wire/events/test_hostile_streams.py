"""Streams that no honest agent prints: they cost what they are worth, and hide nothing of what stands beside them."""

from __future__ import annotations

import pytest

from bridle.wire.events.decode import decode
from bridle.wire.events.decode_tolerant import GLUED_LIMIT
from bridle.wire.events.events import Malformed, Unknown
from bridle.wire.record.outcome import NO_EVENTS
from bridle.wire.transcript.items import Failure, TextItem
from bridle.wire.transcript.transcript import SHOWN_BLOCKS
from tests.wire.fixtures.conversations import assistant_line, calls, result, result_line, transcript_of, use, user_line
from tests.wire.fixtures.stream_lines import assistant_line as assistant_stream_line
from tests.wire.fixtures.stream_lines import failed, init, inspected
from tests.wire.fixtures.stream_lines import result as ended
from tests.wire.fixtures.stream_lines import text as text_block


@pytest.mark.parametrize(
    "words",
    [
        "1 file changed",
        "2026-11-15 10:00:00 INFO started",
        '"type": "system",',
        "[1] [2]",
        "true or false",
        "1 " * 5000,
    ],
    ids=lambda words: words[:12],
)
def test_text_that_begins_like_json_is_one_malformed_line(words: str) -> None:
    found = decode(words.encode())
    assert [type(event) for event in found] == [Malformed]
    assert found[0].raw.decode() == words


def test_too_many_objects_on_one_line_are_counted_as_one_malformed_rest() -> None:
    found = decode(b"{} " * (GLUED_LIMIT + 2000))
    assert [type(event) for event in found] == [Unknown] * GLUED_LIMIT + [Malformed]
    assert found[-1].raw == (b"{} " * 2000)


def test_blanks_around_a_single_object_do_not_count_as_a_second_one() -> None:
    found = decode(b' {"type":"novel","a":NaN} \t')
    assert [type(event) for event in found] == [Unknown]


def test_each_refused_call_counts_once_however_often_it_is_listed() -> None:
    denials = [{"tool_name": "Bash", "tool_use_id": f"t{number}"} for number in range(20_000)]
    odd = [{"tool_name": "Read"}, {"tool_name": "Read"}, {"tool_use_id": ["t1"]}, "words", None]
    read = inspected([init(), ended(permission_denials=denials), init(), ended(permission_denials=[*denials, *odd])])
    assert read["permission_denials"] == [*denials, *odd]


def test_a_list_of_events_has_a_warning() -> None:
    read = inspected(["[" + "{},".join([""] * 3) + "{}]"])
    assert NO_EVENTS in read["warnings"]
    assert (read["parse_errors"], read["run_error"]) == (0, True)


def test_a_list_among_events_has_no_warning() -> None:
    read = inspected([init(), "[1,2]", "7", assistant_stream_line(text_block("x")), ended("x")])
    assert read["warnings"] == []


# Of two kinds in turn: those of one kind that follow each other are one item.
BLOCKS = ["1", '{"type":"text","text":"x"}']


def test_too_many_blocks_are_counted_and_not_shown() -> None:
    line = '{"type":"assistant","message":{"content":[' + ",".join(BLOCKS * ((SHOWN_BLOCKS + 500) // 2)) + "]}}"
    transcript = transcript_of(line, result_line("done"))
    *shown, words, _ = transcript.items()
    assert len(shown) == SHOWN_BLOCKS
    assert isinstance(words, Failure)
    assert words.text.startswith("500 more blocks")


def test_a_call_with_a_used_id_is_a_separate_call() -> None:
    transcript = transcript_of(
        assistant_line(use("t", "Bash", command="first")),
        user_line(result("t", "one")),
        assistant_line(use("t", "Bash", command="second")),
        user_line(result("t", "two", is_error=True)),
        assistant_line(use("t", "Read", file_path="third")),
    )
    found = calls(transcript)
    assert [(call.summary, call.output, str(call.state)) for call in found] == [
        ("first", "one", "ok"),
        ("second", "two", "error"),
        ("third", "", "running"),
    ]
    assert len({call.call_id for call in found}) == 3


def test_a_call_that_is_printed_twice_before_its_result_is_one_call() -> None:
    transcript = transcript_of(
        assistant_line(use("t", "Bash", command="x")),
        assistant_line(use("t", "Bash", command="x")),
        user_line(result("t")),
    )
    assert len(calls(transcript)) == 1


def test_a_sub_agent_that_calls_itself_again_and_again_stays_a_tree() -> None:
    again = [
        line
        for _ in range(40)
        for line in (assistant_line(use("t", "Task", prompt="p"), parent="t"), user_line(result("t"), parent="t"))
    ]
    transcript = transcript_of(assistant_line(use("t", "Task", prompt="p")), *again)
    outermost, *more = calls(transcript)
    assert (outermost.call_id, more) == ("t", [])
    assert len(calls(transcript, "t")) == 39


def test_a_failure_after_a_list_still_has_its_reason() -> None:
    read = inspected(["[]", init(), failed("it broke")])
    assert read["error"] == "it broke"


def test_a_stray_line_that_begins_with_a_number_is_shown_whole() -> None:
    (item,) = transcript_of("3 warnings were found").items()
    assert isinstance(item, TextItem)
    assert item.text == "3 warnings were found"
