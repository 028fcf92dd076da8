"""Standard output: in order, whole, past slow and vanished readers."""

from __future__ import annotations

import asyncio
import json
import os
import threading

import pytest

from bridle.agent.stdio.formats import Speaker
from bridle.agent.stdio.output import SDK_LINE_LIMIT_BYTES, WAITING_LIMIT_BYTES, Output, shortened

# A test that waits longer than this has hung.
LIMIT_SECONDS = 30.0


def read_to_end(descriptor: int, into: list[bytes]) -> None:
    while chunk := os.read(descriptor, 65536):
        into.append(chunk)
    os.close(descriptor)


def test_lines_leave_whole_and_in_order_past_a_pipe_that_is_full() -> None:
    reading, writing = os.pipe()
    output = Output(writing)
    for number in range(2000):
        output.event({"number": number, "text": "x" * 200})
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_to_end, args=(reading, chunks))
    reader.start()
    asyncio.run(output.drained())
    os.close(writing)
    reader.join(LIMIT_SECONDS)
    assert [json.loads(line)["number"] for line in b"".join(chunks).splitlines()] == list(range(2000))


def test_sending_does_not_wait_for_the_reader_and_says_when_too_much_waits() -> None:
    reading, writing = os.pipe()
    output = Output(writing)
    output.write(b"x" * (WAITING_LIMIT_BYTES + 1_000_000) + b"\n")
    assert output.is_behind
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_to_end, args=(reading, chunks))
    reader.start()
    asyncio.run(output.caught_up())
    asyncio.run(output.drained())
    os.close(writing)
    reader.join(LIMIT_SECONDS)
    assert sum(map(len, chunks)) == WAITING_LIMIT_BYTES + 1_000_001


def test_a_reader_that_is_gone_is_told_to_the_next_sender() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    output = Output(writing)
    output.event({"type": "a"})
    with pytest.raises(BrokenPipeError):
        asyncio.run(output.drained())
    with pytest.raises(BrokenPipeError):
        output.event({"type": "b"})
    os.close(writing)


def test_a_line_that_would_kill_a_client_is_shortened_and_still_whole() -> None:
    reading, writing = os.pipe()
    output = Output(writing, line_limit_bytes=SDK_LINE_LIMIT_BYTES)
    event = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "content": "y" * 3_000_000}]},
        "tool_use_result": {"originalFile": "z" * 3_000_000, "numLines": 3, "lines": ["+a"] * 100_000},
    }
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_to_end, args=(reading, chunks))
    reader.start()
    output.event(event)
    asyncio.run(output.drained())
    os.close(writing)
    reader.join(LIMIT_SECONDS)
    line = b"".join(chunks)
    assert len(line) < SDK_LINE_LIMIT_BYTES
    shown = json.loads(line)
    assert shown["tool_use_result"]["numLines"] == 3
    assert "characters left out here" in shown["tool_use_result"]["originalFile"]
    assert shown["message"]["content"][0]["content"].startswith("yyy")


def test_what_is_short_is_not_shortened() -> None:
    value = {"a": ["b", 1, None, {"c": "d" * 10}]}
    assert shortened(value, 10) == value


def spoken(output_format: str, *, is_verbose: bool, results: list[dict[str, object]]) -> bytes:
    reading, writing = os.pipe()
    speaker = Speaker(Output(writing), output_format, is_verbose=is_verbose)
    speaker.event({"type": "system"})
    for result in results:
        speaker.result(result)
    speaker.finish()
    asyncio.run(speaker.output.drained())
    os.close(writing)
    chunks: list[bytes] = []
    read_to_end(reading, chunks)
    return b"".join(chunks)


SUCCESS: dict[str, object] = {"type": "result", "subtype": "success", "result": "héllo"}
FAILURES: list[tuple[dict[str, object], str]] = [
    ({"subtype": "error_max_turns", "errors": ["Reached maximum number of turns (2)"]}, "Error: Reached max turns (2)"),
    (
        {"subtype": "error_max_budget_usd", "errors": ["Reached maximum budget ($0.5)"]},
        "Error: Exceeded USD budget ($0.5)",
    ),
    ({"subtype": "error_during_execution", "errors": ["x"]}, "Execution error"),
]


def test_each_format_shows_what_it_should() -> None:
    assert spoken("text", is_verbose=False, results=[SUCCESS]) == "héllo\n".encode()
    assert json.loads(spoken("json", is_verbose=False, results=[SUCCESS])) == SUCCESS
    assert json.loads(spoken("json", is_verbose=True, results=[SUCCESS])) == [{"type": "system"}, SUCCESS]
    lines = spoken("stream-json", is_verbose=True, results=[SUCCESS]).splitlines()
    assert [json.loads(line) for line in lines] == [{"type": "system"}, SUCCESS]


def test_the_last_of_several_results_is_the_answer() -> None:
    second = {**SUCCESS, "result": "second"}
    assert spoken("text", is_verbose=False, results=[SUCCESS, second]) == b"second\n"
    assert json.loads(spoken("json", is_verbose=False, results=[SUCCESS, second])) == second


@pytest.mark.parametrize(("result", "text"), FAILURES)
def test_a_failure_as_text_says_why(result: dict[str, object], text: str) -> None:
    assert spoken("text", is_verbose=False, results=[{"type": "result", **result}]) == text.encode()
