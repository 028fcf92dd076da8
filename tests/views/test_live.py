"""The live view: what a person sees of an agent at work, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bridle.views.live import Live
from bridle.wire.decode import Decoder
from bridle.wire.mask import Mask
from bridle.wire.record import Record

INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "claude-x", "permissionMode": "default"}


def assistant(message_id: str, *blocks: dict[str, Any], tokens: int = 100, **fields: Any) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 1}
    message = {"id": message_id, "role": "assistant", "model": "claude-x", "content": list(blocks), "usage": usage}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None, "session_id": "s", **fields}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(use_id: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": use_id, "name": "Bash", "input": {"command": command}}


def answer(use_id: str, words: str, *, is_error: bool) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": use_id, "content": words, "is_error": is_error}
    message = {"role": "user", "content": [block]}
    return {"type": "user", "message": message, "parent_tool_use_id": None, "session_id": "s"}


def shown(
    *lines: dict[str, Any], price: Callable[[Record], float | None] = lambda _record: None
) -> tuple[list[str], list[str]]:
    """What goes to stdout, and what goes beside it."""
    words: list[str] = []
    beside: list[str] = []
    live = Live(answer=words.append, beside=beside.append, mask=Mask(("hunter2-secret",)), price=price)
    for event in Decoder().feed(b"".join(json.dumps(line).encode() + b"\n" for line in lines)):
        live.show(event)
    return words, beside


def test_words_are_the_answer_and_tools_stand_beside_them() -> None:
    words, beside = shown(INIT, assistant("m1", text("Look:"), call("t1", "ls")), answer("t1", "a\nb", is_error=False))
    assert words == ["Look:"]
    assert beside == ["claude-x, session s, permissions default", "> Bash ls", "  Bash ok: a …"]


def test_a_failed_tool_shows_the_reason_after_its_exit_code() -> None:
    _, beside = shown(assistant("m1", call("t1", "make")), answer("t1", "Exit code 2\n\nno rule\nmore", is_error=True))
    assert beside[-1] == "  Bash failed: Exit code 2: no rule …"


def test_a_failed_tool_with_one_line_shows_that_line() -> None:
    _, beside = shown(assistant("m1", call("t1", "make")), answer("t1", "Exit code 2", is_error=True))
    assert beside[-1] == "  Bash failed: Exit code 2"


def test_an_error_of_the_program_is_not_an_answer() -> None:
    words, beside = shown(assistant("m1", text("Invalid API key"), error="authentication_failed"))
    assert (words, beside) == ([], ["  error: Invalid API key"])


def test_a_secret_is_shown_nowhere() -> None:
    line = answer("t1", "Exit code 1\nhunter2-secret", is_error=True)
    words, beside = shown(assistant("m1", text("it is hunter2-secret"), call("t1", "echo hunter2-secret")), line)
    assert "hunter2" not in "".join(words + beside)


def test_another_tenth_of_the_window_is_said_once() -> None:
    tokens = (1_000, 30_000, 31_000, 47_000)
    lines = [assistant(f"m{number}", call(f"t{number}", "ls"), tokens=count) for number, count in enumerate(tokens)]
    _, beside = shown(*lines)
    told = [line for line in beside if "so far" in line]
    assert told == ["  so far: 2 tool calls, context 15%", "  so far: 4 tool calls, context 23%"]


def test_another_ten_cents_are_said_once() -> None:
    lines = [assistant(f"m{number}", call(f"t{number}", "ls")) for number in range(5)]
    costs = iter((0.05, 0.12, 0.15, 0.31))
    _, beside = shown(*lines, price=lambda _record: next(costs))
    told = [line for line in beside if "so far" in line]
    assert told == [
        "  so far: 3 tool calls, context 0%, about 0.12 USD",
        "  so far: 5 tool calls, context 0%, about 0.31 USD",
    ]


def test_several_blocks_of_one_message_are_counted_once() -> None:
    asked: list[int] = []
    lines = [assistant("m1", text("one")), assistant("m2", text("two")), assistant("m2", call("t1", "ls"))]
    shown(*lines, price=lambda record: asked.append(record.tool_uses))
    assert asked == [0]
