"""Standard output: in order, whole, past slow and vanished readers."""

from __future__ import annotations

import asyncio
import json
import os
import threading

import msgspec
import pytest

from bridle.agent.stdio.event_writer import EventWriter
from bridle.agent.stdio.output import SDK_LINE_LIMIT_BYTES, WAITING_LIMIT_BYTES, Output
from bridle.agent.stdio.output_events import ErrorResult, Result, Status, SuccessResult, User, UserMessage
from bridle.agent.stdio.shorten import shorten
from bridle.agent.stdio.task_events import TaskStarted

# A test that waits longer than this has hung.
LIMIT_SECONDS = 30.0


def read_to_end(descriptor: int, into: list[bytes]) -> None:
    while chunk := os.read(descriptor, 65536):
        into.append(chunk)
    os.close(descriptor)


def test_lines_are_written_whole_and_in_order_to_a_full_pipe() -> None:
    reading, writing = os.pipe()
    output = Output(writing)
    for number in range(2000):
        output.event(TaskStarted(task_id=str(number), tool_use_id="", description="x" * 200))
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_to_end, args=(reading, chunks))
    reader.start()
    asyncio.run(output.drained())
    os.close(writing)
    reader.join(LIMIT_SECONDS)
    assert [json.loads(line)["task_id"] for line in b"".join(chunks).splitlines()] == list(map(str, range(2000)))


def test_writing_does_not_wait_for_the_reader_and_reports_a_full_queue() -> None:
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


def test_writing_after_the_reader_is_gone_raises() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    output = Output(writing)
    output.event(Status())
    with pytest.raises(BrokenPipeError):
        asyncio.run(output.drained())
    with pytest.raises(BrokenPipeError):
        output.event(Status())
    os.close(writing)


def test_a_line_that_is_too_long_for_a_client_is_shortened_and_still_valid() -> None:
    reading, writing = os.pipe()
    output = Output(writing, line_limit_bytes=SDK_LINE_LIMIT_BYTES)
    event = User(
        message=UserMessage(content=[{"type": "tool_result", "content": "y" * 3_000_000}]),
        timestamp="",
        tool_use_result={"originalFile": "z" * 3_000_000, "numLines": 3, "lines": ["+a"] * 100_000},
    )
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


def test_short_values_are_not_shortened() -> None:
    value = {"a": ["b", 1, None, {"c": "d" * 10}]}
    assert shorten(value, 10) == value


def printed(output_format: str, *, is_verbose: bool, results: list[Result]) -> bytes:
    reading, writing = os.pipe()
    writer = EventWriter(Output(writing), output_format, is_verbose=is_verbose)
    writer.write(STATUS)
    for result in results:
        writer.write(result)
    writer.finish()
    asyncio.run(writer.output.drained())
    os.close(writing)
    chunks: list[bytes] = []
    read_to_end(reading, chunks)
    return b"".join(chunks)


STATUS = Status(status="x")
STATUS_JSON = {"type": "system", "subtype": "status", "status": "x", "session_id": "", "uuid": ""}


def success(text: str) -> SuccessResult:
    return SuccessResult(
        is_error=False,
        duration_ms=0,
        duration_api_ms=0,
        num_turns=1,
        result=text,
        stop_reason="end_turn",
        total_cost_usd=0,
        usage={},
        model_usage={},
        permission_denials=[],
    )


def failure(subtype: str, *errors: str) -> ErrorResult:
    return ErrorResult(
        subtype=subtype,
        duration_ms=0,
        duration_api_ms=0,
        num_turns=1,
        stop_reason=None,
        total_cost_usd=0,
        usage={},
        model_usage={},
        permission_denials=[],
        errors=list(errors),
    )


SUCCESS = success("héllo")
FAILURES = [
    (failure("error_max_turns", "Reached maximum number of turns (2)"), "Error: Reached max turns (2)"),
    (failure("error_max_budget_usd", "Reached maximum budget ($0.5)"), "Error: Exceeded USD budget ($0.5)"),
    (failure("error_max_structured_output_retries", "no data"), "Error: no data"),
    (failure("error_during_execution", "x"), "Execution error: x\n"),
]


def test_each_format_shows_what_it_should() -> None:
    result = msgspec.to_builtins(SUCCESS)
    assert (result["type"], result["subtype"], result["result"]) == ("result", "success", "héllo")
    assert printed("text", is_verbose=False, results=[SUCCESS]) == "héllo\n".encode()
    assert json.loads(printed("json", is_verbose=False, results=[SUCCESS])) == result
    assert json.loads(printed("json", is_verbose=True, results=[SUCCESS])) == [STATUS_JSON, result]
    lines = printed("stream-json", is_verbose=True, results=[SUCCESS]).splitlines()
    assert [json.loads(line) for line in lines] == [STATUS_JSON, result]


def test_the_last_of_several_results_is_the_answer() -> None:
    second = success("second")
    assert printed("text", is_verbose=False, results=[SUCCESS, second]) == b"second\n"
    assert json.loads(printed("json", is_verbose=False, results=[SUCCESS, second])) == msgspec.to_builtins(second)


@pytest.mark.parametrize(("result", "text"), FAILURES)
def test_a_failure_as_text_says_why(result: ErrorResult, text: str) -> None:
    assert printed("text", is_verbose=False, results=[result]) == text.encode()


@pytest.mark.parametrize("output_format", ["stream-json", "json"])
def test_separators_that_some_readers_take_for_line_ends_are_escaped(output_format: str) -> None:
    reading, writing = os.pipe()
    output = Output(writing)
    writer = EventWriter(output, output_format, is_verbose=True)
    writer.write(TaskStarted(task_id="t", tool_use_id="", description="one\u2028two\u2029three"))
    writer.finish()
    asyncio.run(output.drained())
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        [line] = pipe.read().splitlines()
    assert "one\\u2028two\\u2029three" in line
    event = json.loads(line)
    assert (event[0] if output_format == "json" else event)["description"] == "one\u2028two\u2029three"
