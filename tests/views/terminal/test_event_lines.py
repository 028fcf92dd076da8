"""The live view: what a person sees of an agent at work, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bridle.views.terminal.event_lines import DROPPED_TEXT, EventPrinter
from bridle.wire.events.decode import Decoder
from bridle.wire.events.events import Event
from bridle.wire.mask import Mask
from bridle.wire.record.record import Record
from tests.views.fixtures.agent_lines import answer, assistant, call, text

INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x", "permissionMode": "default"}


def shown(
    *lines: dict[str, Any], price: Callable[[Record], float | None] = lambda _record: None
) -> tuple[list[str], list[str]]:
    """What goes to stdout, and what goes beside it."""
    message: list[str] = []
    beside: list[str] = []
    live = EventPrinter(answer=message.append, status=beside.append, mask=Mask(("hunter2-secret",)), price=price)
    for event in events_of(*lines):
        live.show(event)
    return message, beside


def events_of(*lines: dict[str, Any]) -> list[Event]:
    return Decoder().feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines))


def live_printer() -> tuple[EventPrinter, list[str]]:
    message: list[str] = []
    return EventPrinter(answer=message.append, status=lambda _line: None, mask=Mask()), message


def held_printer() -> tuple[EventPrinter, list[str]]:
    message: list[str] = []
    return EventPrinter(answer=message.append, status=lambda _line: None, mask=Mask(), on_hold=lambda: None), message


def test_text_is_the_answer_and_tools_are_status_lines() -> None:
    message, beside = shown(
        INIT, assistant("m1", text("Look:"), call("t1", "ls")), answer("t1", "a\nb", is_error=False)
    )
    assert message == ["Look:"]
    assert beside == ["claude-x, session s, permissions default", "> Bash ls", "  Bash ok: a …"]


def test_a_failed_tool_shows_the_reason_after_its_exit_code() -> None:
    _, beside = shown(assistant("m1", call("t1", "make")), answer("t1", "Exit code 2\n\nno rule\nmore", is_error=True))
    assert beside[-1] == "  Bash failed: Exit code 2: no rule …"


def test_a_failed_tool_with_one_line_shows_that_line() -> None:
    _, beside = shown(assistant("m1", call("t1", "make")), answer("t1", "Exit code 2", is_error=True))
    assert beside[-1] == "  Bash failed: Exit code 2"


def test_an_error_of_the_program_is_not_an_answer() -> None:
    message, beside = shown(assistant("m1", text("Invalid API key"), error="authentication_failed"))
    assert (message, beside) == ([], ["  error: Invalid API key"])


def test_a_secret_is_shown_nowhere() -> None:
    line = answer("t1", "Exit code 1\nhunter2-secret", is_error=True)
    message, beside = shown(assistant("m1", text("it is hunter2-secret"), call("t1", "echo hunter2-secret")), line)
    assert "hunter2" not in "".join(message + beside)


def test_another_tenth_of_the_window_is_printed_once() -> None:
    tokens = (1_000, 30_000, 31_000, 47_000)
    lines = [assistant(f"m{number}", call(f"t{number}", "ls"), tokens=count) for number, count in enumerate(tokens)]
    _, beside = shown(*lines)
    result = [line for line in beside if "so far" in line]
    assert result == ["  so far: 2 tool calls, context 15%", "  so far: 4 tool calls, context 23%"]


def test_another_ten_cents_are_printed_once() -> None:
    lines = [assistant(f"m{number}", call(f"t{number}", "ls")) for number in range(5)]
    costs = iter((0.05, 0.12, 0.15, 0.31))
    _, beside = shown(*lines, price=lambda _record: next(costs))
    result = [line for line in beside if "so far" in line]
    assert result == [
        "  so far: 3 tool calls, context 0%, about 0.12 USD",
        "  so far: 5 tool calls, context 0%, about 0.31 USD",
    ]


def test_several_blocks_of_one_message_are_counted_once() -> None:
    asked: list[int] = []
    lines = [assistant("m1", text("one")), assistant("m2", text("two")), assistant("m2", call("t1", "ls"))]
    shown(*lines, price=lambda record: asked.append(record.tool_uses))
    assert asked == [0]


def test_retries_are_printed_with_their_reason_and_delay() -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 2, "max_retries": 10, "retry_delay_ms": 2500}
    limit = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1_794_704_467}}
    fine = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}}
    _, beside = shown(retry | {"error_status": 529, "error": "overloaded"}, limit, fine)
    assert beside == [
        "  request overloaded (529): attempt 2 of 10, waiting 2.5 s",
        "  rate limit rejected, resets at 2026-11-15 01:01 UTC",
    ]
    distant = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 10**15}}
    assert shown(distant)[1][0].startswith("  rate limit rejected, resets at ")


def test_an_init_with_few_fields_is_printed_with_those() -> None:
    assert shown({"type": "system", "subtype": "init", "session_id": "s"})[1] == ["session s"]
    assert shown({"type": "system", "subtype": "init"})[1] == []


def test_escape_sequences_are_escaped_everywhere() -> None:
    evil = "\x1b]0;title\x07\x1b[2J\u202e"
    lines = [assistant("m1", text(evil), call("t1", evil)), answer("t1", evil, is_error=True)]
    started = {"type": "system", "subtype": "task_started", "task_id": "b", "description": evil}
    message, beside = shown(INIT | {"model": evil}, *lines, started)
    assert len(beside) == 4
    assert all(sign not in line for line in message + beside for sign in "\x1b\x07\u202e")


def test_the_window_of_the_model_itself_decides_how_full_it_is() -> None:
    result = {"type": "result", "subtype": "success", "is_error": False, "result": "x", "num_turns": 1}
    result |= {"usage": {"input_tokens": 50_000, "output_tokens": 5}, "total_cost_usd": 0.1234}
    windows = {"modelUsage": {"claude-x": {"contextWindow": 100_000}}}
    printed = assistant("m1", text("x"), tokens=50_000)
    assert shown(INIT, printed, result)[1][-1] == "= 1 turn, 50000 in, 5 out, context 25%, 0.1234 USD"
    assert shown(INIT, printed, result | windows)[1][-1] == "= 1 turn, 50000 in, 5 out, context 50%, 0.1234 USD"
    assert (
        shown(INIT | {"model": "x[1m]"}, printed, result)[1][-1] == "= 1 turn, 50000 in, 5 out, context 5%, 0.1234 USD"
    )


def show_texts(printer: EventPrinter, *texts: str) -> None:
    for number, words in enumerate(texts):
        for event in events_of(assistant(f"m{number}", text(words))):
            printer.show(event)


def test_with_a_hold_only_the_answer_is_printed() -> None:
    printer, message = held_printer()
    show_texts(printer, "let me look", "stream text")
    for event in events_of({"type": "result", "result": "the answer"}):
        printer.show(event)
    assert message == []
    printer.finish("the answer")
    assert message == ["the answer"]


def test_with_a_hold_and_no_answer_the_text_so_far_is_printed() -> None:
    printer, message = held_printer()
    printer.finish(None)
    assert message == []
    show_texts(printer, "one", "two")
    printer.finish(None)
    assert message == ["one\ntwo"]


def test_an_answer_that_was_not_printed_as_it_came_is_printed_at_the_end() -> None:
    printer, message = live_printer()
    show_texts(printer, "let me look", "found it")
    printer.finish("found it")
    printer.finish(None)
    assert message == ["let me look", "found it"]
    printer.finish("another text")
    assert message[2:] == ["another text"]


def test_the_text_of_an_attempt_that_is_started_again_is_dropped() -> None:
    printer, message = held_printer()
    show_texts(printer, "one")
    printer.start_again()
    printer.finish(None)
    assert message == []
    printer, message = live_printer()
    show_texts(printer, "two")
    printer.start_again()
    assert message == ["two", DROPPED_TEXT], "what is printed already is marked"
    printer.finish("two")
    assert message[2:] == ["two"], "the second attempt has the same answer"
