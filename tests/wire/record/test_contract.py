"""Every row of the stream-json contract: a stream, and the fields that must come out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from bridle.wire.record.outcome import Ending, Rules
from bridle.wire.record.policy import Policy
from tests.parse_cases import differences
from tests.wire.fixtures.stream_lines import (
    SESSION,
    Line,
    assistant_line,
    call,
    encode_lines,
    failed,
    init,
    inspected,
    inspected_bytes,
    result,
    text,
    tool_result_line,
)

QUIET: dict[str, Any] = {
    "error": None,
    "error_category": None,
    "warnings_prefix": [],
    "run_error": False,
    "succeeded_cleanly": True,
}
BACKGROUND = {"description": "d", "prompt": "p", "run_in_background": True}
NO_RESULT = ["stream-json ended without a 'result' message"]
MALFORMED = ["malformed stream-json line skipped:"]
LONG = "rate limit " + "x" * 5000

TRANSPORT: dict[str, tuple[list[Line | str | bytes], dict[str, Any]]] = {
    "blank lines are skipped": (
        [init(), "", "   ", "\t", assistant_line("a"), "", result("a")],
        {"output": "a", **QUIET},
    ),
    "a bad line is counted and reading goes on": (
        [init(), '{"type":"assistant","mess', assistant_line("b"), result("b")],
        {"output": "b", "parse_errors": 1, "warnings_prefix": MALFORMED, "degraded": False},
    ),
    "plain text on stdout is counted": (
        ["[SandboxDebug] starting", init(), "warning: something", assistant_line("b"), result("b")],
        {"output": "b", "parse_errors": 2, "session_id": SESSION, "error": None},
    ),
    "scalars and arrays are ignored without a word": (
        [init(), "5", '"text"', "null", "true", "[1,2]", '[{"type":"result"}]', assistant_line("c"), result("c")],
        {"output": "c", "parse_errors": 0, "unknown_events": 0, **QUIET},
    ),
    "an object without a type is unknown": (
        [init(), {"no": "type"}, {"type": None}, {"type": 7}, {}, assistant_line("d"), result("d")],
        {"output": "d", "unknown_events": 4, "parse_errors": 0, **QUIET},
    ),
    "an unknown type is kept and counted": (
        [init(), {"type": "conversation_reset"}, {"type": "tool_progress", "x": 1}, assistant_line("e"), result("e")],
        {"output": "e", "unknown_events": 2, **QUIET},
    ),
    "a rate limit event is no unknown event": (
        [
            init(),
            {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
            assistant_line("e"),
            result("e"),
        ],
        {"unknown_events": 0, "rate_limit_status": "allowed", **QUIET},
    ),
    "two objects on one line are two events": (
        [
            json.dumps(init()) + json.dumps(assistant_line("f")),
            json.dumps(assistant_line("g")) + "  " + json.dumps(result("g")),
        ],
        {"output": "f\ng", "session_id": SESSION, "parse_errors": 0, **QUIET},
    ),
    "an object glued to broken words costs only the words": (
        [init(), json.dumps(assistant_line("h")) + "oops", result("h")],
        {"output": "h", "parse_errors": 1},
    ),
    "a byte order mark does not cost the first line": (
        [b"\xef\xbb\xbf" + json.dumps(init()).encode(), assistant_line("i"), result("i")],
        {"session_id": SESSION, "parse_errors": 0, **QUIET},
    ),
    "NULs and carriage returns are taken off": (
        [
            b"\0\0" + json.dumps(init()).encode() + b"\r",
            json.dumps(assistant_line("j")).encode() + b"\0\r",
            result("j"),
        ],
        {"session_id": SESSION, "output": "j", "parse_errors": 0, **QUIET},
    ),
    "a NUL inside a string is taken out": (
        [init(), json.dumps(assistant_line("abXcd")).encode().replace(b"X", b"\0"), result("k")],
        {"output": "abcd", "parse_errors": 0},
    ),
    "an escaped NUL stays": (
        [init(), assistant_line("x\0y"), result("x\0y")],
        {"output": "x\0y", "final_text": "x\0y"},
    ),
    "line separators of Unicode do not end a line": (
        [
            init(),
            json.dumps(assistant_line("a\u2028b\u2029c\x85d\x0be"), ensure_ascii=False).replace("\\u000b", "\x0b"),
            result("l"),
        ],
        {"output": "a\u2028b\u2029c\x85d\x0be", "parse_errors": 0},
    ),
    "a raw control character inside a string does not cost the line": (
        [init(), json.dumps(assistant_line("tabXhere")).replace("X", "\t"), result("m")],
        {"output": "tab\there", "parse_errors": 0},
    ),
    "bytes that are not UTF-8 are replaced": (
        [
            init(),
            json.dumps(assistant_line("bad XX byte")).encode().replace(b"XX", b"\xff\xfe"),
            assistant_line("after"),
            result("after"),
        ],
        {"output": "bad \ufffd\ufffd byte\nafter", "error": None, "parse_errors": 0},
    ),
    "a cut character is replaced": (
        [init(), json.dumps(assistant_line("eX")).encode().replace(b"X", b"\xe2\x82"), result("e")],
        {"output": "e\ufffd", "parse_errors": 0},
    ),
    "lone surrogates become replacement characters": (
        [init(), '{"type":"assistant","message":{"content":[{"type":"text","text":"\\udcb2x\\ud83d"}]}}', result("n")],
        {"output": "\ufffdx\ufffd", "parse_errors": 0},
    ),
    "NaN and infinities do not cost the line": (
        [
            init(),
            assistant_line("o"),
            '{"type":"result","result":"o","num_turns":2,"total_cost_usd":NaN,"duration_ms":Infinity}',
        ],
        {"output": "o", "final_text": "o", "total_cost_usd": None, "duration_ms": None, "parse_errors": 0},
    ),
    "a number too large for a float does not cost the line": (
        [init(), assistant_line("o"), '{"type":"result","result":"o","num_turns":2,"total_cost_usd":1e400}'],
        {"final_text": "o", "total_cost_usd": None, "parse_errors": 0},
    ),
    "an integer of 5000 digits is a parse error": (
        [init(), '{"type":"assistant","n":' + "9" * 5000 + "}", assistant_line("p"), result("p")],
        {"output": "p", "parse_errors": 1, "warnings_prefix": MALFORMED},
    ),
    "an integer of 5000 digits in an unused field is a parse error too": (
        [
            init(),
            json.dumps(assistant_line("lost"))[:-1] + ',"n":[' + "1" * 5000 + "]}",
            assistant_line("p"),
            result("p"),
        ],
        {"output": "p", "parse_errors": 1},
    ),
    "5000 digits in a string are a string": (
        [init(), assistant_line("1" * 5000), result("p")],
        {"output": "1" * 5000, "parse_errors": 0},
    ),
    "an integer of 2 to the 70 is an integer": (
        [init(), assistant_line("q"), result("q", usage={"input_tokens": 2**70, "output_tokens": 1})],
        {"input_tokens": 2**70, "output_tokens": 1, "parse_errors": 0},
    ),
    "nesting of 100000 is a parse error": (
        [init(), '{"type":"user","x":' + "[" * 100_000 + "]" * 100_000 + "}", assistant_line("r"), result("r")],
        {"output": "r", "parse_errors": 1},
    ),
    "nesting of 100000 inside a tool's input is a parse error": (
        [
            init(),
            '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"n","input":'
            + '{"a":' * 100_000
            + "1"
            + "}" * 100_000
            + "}]}}",
            assistant_line("r"),
            result("r"),
        ],
        {"output": "r", "parse_errors": 1},
    ),
    "of two values for one key the last counts": (
        [init(), '{"type":"result","result":"old","result":"new","num_turns":2}'],
        {"final_text": "new"},
    ),
    "a trailing comma is a parse error": (
        [init(), '{"type":"user",}', assistant_line("s"), result("s")],
        {"parse_errors": 1},
    ),
    "an empty stream has no answer": (
        [],
        {"output": "", "final_text": "", "error": None, "run_error": True, "warnings_prefix": NO_RESULT},
    ),
    "a line of 2 MB is a line": (
        [init(), assistant_line("y" * 2_000_000), result("y")],
        {"output": "y" * 2_000_000, **QUIET},
    ),
}

BLOCKS: dict[str, tuple[list[Line | str | bytes], dict[str, Any]]] = {
    "text blocks are joined by newlines": (
        [init(), assistant_line("a", "b"), assistant_line("c"), result("c")],
        {"output": "a\nb\nc"},
    ),
    "a text block without text is an empty text": (
        [init(), assistant_line({"type": "text"}, "z"), result("z")],
        {"output": "\nz", "final_text": "z"},
    ),
    "a text that is no string is an empty text": (
        [init(), assistant_line(text(None), text(5), text(["x"]), "z"), result("z")],
        {"output": "\n\n\nz", "parse_errors": 0},
    ),
    "other blocks are not output": (
        [
            init(),
            assistant_line(
                {"type": "thinking", "thinking": "hm"}, call("Bash"), {"type": "server_tool_use", "id": "s"}, "z"
            ),
            result("z"),
        ],
        {"output": "z", "tool_uses": 1, **QUIET},
    ),
    "blocks that are no objects cost only themselves": (
        [init(), assistant_line(text("a"), 7, None, [], {"type": 3}, {}, "b"), result("b")],
        {"output": "a\nb", "parse_errors": 0},
    ),
    "an unknown block does not cost its neighbours": (
        [
            init(),
            assistant_line("a", {"type": "image", "source": {"data": "x"}}, {"type": "document"}, "b"),
            result("b"),
        ],
        {"output": "a\nb"},
    ),
    "a message that is missing or of another type is skipped": (
        [
            init(),
            {"type": "assistant"},
            {"type": "assistant", "message": None},
            {"type": "assistant", "message": "words"},
            {"type": "assistant", "message": ["x"]},
            assistant_line("ok"),
            result("ok"),
        ],
        {"output": "ok", "parse_errors": 0, **QUIET},
    ),
    "content that is no list is skipped": (
        [
            init(),
            assistant_line("a", content="plain"),
            assistant_line(content=None),
            assistant_line(content={"type": "text"}),
            assistant_line("b"),
            result("b"),
        ],
        {"output": "b", "parse_errors": 0},
    ),
    "a bad id or usage does not cost the text": (
        [init(), assistant_line("a", id=5, usage="none", model=[]), result("a")],
        {"output": "a", "parse_errors": 0},
    ),
    "tool calls and results are counted, several on one line too": (
        [
            init(),
            assistant_line(call("Bash", "t1"), call("Read", "t2")),
            tool_result_line("t1"),
            tool_result_line("t2", [text("x")], is_error=True),
            assistant_line("z"),
            result("z"),
        ],
        {"tool_uses": 2, "tool_results": 2, "tool_errors": 1},
    ),
    "text of sub-agents is output and not main thread text": (
        [
            init(),
            assistant_line(call("Task", "t1")),
            assistant_line("inner", parent="t1", id="msg_2"),
            tool_result_line("t1"),
            assistant_line("outer", id="msg_3"),
            result("outer"),
        ],
        {"output": "inner\nouter", "main_thread_text": "outer", "final_text": "outer"},
    ),
    "a user's words are not output": (
        [
            init(),
            {"type": "user", "message": {"role": "user", "content": [text("question")]}},
            assistant_line("a"),
            result("a"),
        ],
        {"output": "a", "tool_results": 0},
    ),
    "pieces of an answer under way are not output": (
        [
            init(),
            {"type": "stream_event", "event": {"type": "content_block_delta", "delta": {"text": "par"}}},
            assistant_line("partial"),
            result("partial"),
        ],
        {"output": "partial"},
    ),
}

INIT: dict[str, tuple[list[Line | str | bytes], dict[str, Any]]] = {
    "the first init holds": (
        [
            init(apiKeySource="claude.ai", claude_code_version="2.1.9", permissionMode="plan"),
            init(session_id="other", apiKeySource="ANTHROPIC_API_KEY", model="m2", claude_code_version="3"),
            assistant_line("a"),
            result("a"),
        ],
        {
            "api_key_source": "claude.ai",
            "session_id": SESSION,
            "model": "claude-sonnet-4-5",
            "version": "2.1.9",
            "permission_mode": "plan",
            "cwd": "/project",
            "tools": ["Bash"],
        },
    ),
    "the first init holds although it has no key source": (
        [init(), init(apiKeySource="ANTHROPIC_API_KEY"), assistant_line("a"), result("a")],
        {"api_key_source": None},
    ),
    "a key source that is no string is left out": (
        [init(apiKeySource=42), init(apiKeySource="late"), assistant_line("a"), result("a")],
        {"api_key_source": None, "session_id": SESSION},
    ),
    "a hook before the init is no init": (
        [{"type": "system", "subtype": "hook_started", "session_id": "x"}, init(), assistant_line("a"), result("a")],
        {"session_id": SESSION, "unknown_events": 0},
    ),
    "other system events change nothing": (
        [
            {"type": "system"},
            {"type": "system", "subtype": 5},
            {"type": "system", "subtype": "new"},
            init(),
            assistant_line("a"),
        ],
        {"session_id": SESSION, "output": "a", "unknown_events": 0},
    ),
    "tools of a wrong type are left out, the session is not": (
        [init(tools="Bash", cwd=5), assistant_line("a"), result("a")],
        {"tools": None, "cwd": None, "session_id": SESSION},
    ),
    "without an init the result names the session": (
        [assistant_line("a"), result("a", session_id="r")],
        {"session_id": "r"},
    ),
    "retries are counted": (
        [
            init(),
            {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529},
            {"type": "system", "subtype": "api_retry", "attempt": "x"},
            assistant_line("a"),
            result("a"),
        ],
        {"api_retries": 2, **QUIET},
    ),
}

RESULTS: dict[str, tuple[list[Line | str | bytes], dict[str, Any]]] = {
    "the result is the final text": (
        [init(), assistant_line("first"), assistant_line("last", id="m2"), result("last")],
        {"output": "first\nlast", "final_text": "last", "degraded": False, **QUIET},
    ),
    "a result with nothing said before it is an answer": (
        [init(), result("only here")],
        {"output": "", "final_text": "only here", "error": None, "run_error": False, "degraded": False},
    ),
    "a result given as a message object is text": (
        [
            init(),
            assistant_line("x"),
            result({"role": "assistant", "content": [text("a"), text("b"), {"type": "image"}]}),
        ],
        {"final_text": "ab"},
    ),
    "an empty result falls back to the stream and says so": (
        [init(), assistant_line("streamed"), result("")],
        {"final_text": "streamed", "degraded": True, "error": None, "run_error": False},
    ),
    "a result that is no text falls back to the stream": (
        [init(), assistant_line("streamed"), result(17)],
        {"final_text": "streamed", "degraded": True},
    ),
    "the fallback leaves sub-agents out": (
        [init(), assistant_line("inner", parent="t1"), assistant_line("outer", id="m2"), result("")],
        {"final_text": "outer", "output": "inner\nouter", "degraded": True},
    ),
    "a result that is only the beginning of the answer gives way to it": (
        [init(), assistant_line("The whole answer."), result("The whole")],
        {"final_text": "The whole answer.", "degraded": False},
    ),
    "an empty result and no text is no answer": (
        [init(), result("")],
        {"final_text": "", "run_error": True, "succeeded": False, "degraded": False, "error": None},
    ),
    "an empty result of a command that took no turn is fine": (
        [init(), result("", num_turns=0)],
        {"run_error": False, "error": None},
    ),
    "an empty result with structured output is an answer": (
        [init(), result("", structured_output={"n": 1})],
        {"structured_output": {"n": 1}, "run_error": False},
    ),
    "no result but text is degraded": (
        [init(), assistant_line("partial")],
        {
            "final_text": "partial",
            "degraded": True,
            "error": None,
            "run_error": False,
            "error_category": None,
            "warnings_prefix": NO_RESULT,
            "input_tokens": 0,
            "output_tokens": 0,
            "total_cost_usd": None,
            "num_turns": None,
        },
    ),
    "no result and no text fails the run": (
        [init()],
        {"error": None, "run_error": True, "succeeded": False, "warnings_prefix": NO_RESULT},
    ),
    "a result cut off by the end of the stream is no result": (
        [init(), assistant_line("partial"), json.dumps(result("partial"))[:-9]],
        {"degraded": True, "parse_errors": 1, "final_text": "partial"},
    ),
    "an error without is_error being true is no error": (
        [init(), assistant_line("a"), result("a", is_error=...)],
        {"output": "a", **QUIET},
    ),
    "is_error as a string is no error": (
        [init(), assistant_line("a"), result("a", is_error="true")],
        {"output": "a", **QUIET},
    ),
    "is_error as 1 is no error": ([init(), assistant_line("a"), result("a", is_error=1)], {"output": "a", **QUIET}),
    "is_error as null is no error": (
        [init(), assistant_line("a"), result("a", is_error=None)],
        {"output": "a", **QUIET},
    ),
    "an error subtype without is_error is no error": (
        [init(), assistant_line("a"), result("a", subtype="error_during_execution", is_error=False)],
        {"error": None, "result_subtype": "error_during_execution"},
    ),
    "an error then a benign result without a turn of its own: the error stays, the last usage counts": (
        [init(), assistant_line("a"), failed("429"), result("a", usage={"input_tokens": 7, "output_tokens": 8})],
        {"error": "429", "error_category": "rate_limit", "input_tokens": 7, "output_tokens": 8, "num_turns": 2},
    ),
    "an error in one turn and success in the next is a success": (
        [init(), assistant_line("a"), failed("interrupted"), init(), assistant_line("b", id="m2"), result("b")],
        {"error": None, "run_error": False, "final_text": "b"},
    ),
    "turns add up, cost does not": (
        [
            init(),
            assistant_line("a"),
            result("a", total_cost_usd=0.01, num_turns=1, duration_ms=5),
            init(),
            assistant_line("b", id="m2"),
            result("b", total_cost_usd=0.03, num_turns=3, duration_ms=6),
        ],
        {"num_turns": 4, "duration_ms": 11, "total_cost_usd": 0.03, "input_tokens": 200, "output_tokens": 40},
    ),
    "permission denials fail the run, and are as sent": (
        [
            init(),
            assistant_line("cannot"),
            result("cannot", permission_denials=[{"tool_name": "Bash"}, {"tool_name": "Write"}]),
        ],
        {
            "permission_denials": ["Bash", "Write"],
            "error": None,
            "run_error": True,
            "error_category": "permission",
            "output": "cannot",
        },
    ),
    "denials of an unknown shape are denials": (
        [init(), assistant_line("a"), result("a", permission_denials="no")],
        {"error": None, "run_error": True, "succeeded_cleanly": False},
    ),
    "structured output is kept as sent": (
        [init(), assistant_line("a"), result("{}", structured_output={"list": [1, None, "x"]})],
        {"structured_output": {"list": [1, None, "x"]}},
    ),
    "structured output that JSON cannot say is null where it cannot": (
        [init(), assistant_line("a"), '{"type":"result","result":"a","structured_output":{"x":NaN,"y":1}}'],
        {"structured_output": {"x": None, "y": 1}},
    ),
}

USAGE: dict[str, tuple[Any, tuple[int, int]]] = {
    "whole numbers": ({"input_tokens": 5, "output_tokens": 6}, (5, 6)),
    "digits in a string": ({"input_tokens": "12", "output_tokens": "7"}, (12, 7)),
    "a fraction is cut": ({"input_tokens": 7.9, "output_tokens": 3.0}, (7, 3)),
    "words are 0": ({"input_tokens": "abc", "output_tokens": "1e3"}, (0, 0)),
    "null is 0": ({"input_tokens": None, "output_tokens": None}, (0, 0)),
    "missing is 0": ({}, (0, 0)),
    "a list is 0": ({"input_tokens": [5], "output_tokens": {"n": 5}}, (0, 0)),
    "one bad count does not cost the other": ({"input_tokens": "abc", "output_tokens": 4}, (0, 4)),
    "no object": ("none", (0, 0)),
    "null": (None, (0, 0)),
    "a list": ([1, 2], (0, 0)),
}

ERRORS: dict[str, tuple[Line, str, str]] = {
    "429 in the words": (
        failed("API Error: Request rejected (429)"),
        "API Error: Request rejected (429)",
        "rate_limit",
    ),
    "rate limit in any case": (failed("Rate Limit hit"), "Rate Limit hit", "rate_limit"),
    "rate-limit": (failed("rate-limit"), "rate-limit", "rate_limit"),
    "limits come before auth": (failed("401 after 429"), "401 after 429", "rate_limit"),
    "401": (failed("401 nope"), "401 nope", "auth"),
    "403": (failed("error 403"), "error 403", "auth"),
    "unauthorized": (failed("Unauthorized"), "Unauthorized", "auth"),
    "authentication": (failed("Authentication failed"), "Authentication failed", "auth"),
    "auth error": (failed("Auth Error"), "Auth Error", "auth"),
    "the name of the key": (failed("set anthropic_api_key"), "set anthropic_api_key", "auth"),
    "anything else": (failed("Internal server error"), "Internal server error", "api"),
    "no detail": (failed(...), "API error (no detail)", "api"),
    "null detail": (failed(None), "API error (no detail)", "api"),
    "empty detail": (failed(""), "API error (no detail)", "api"),
    "detail that is no text": (failed(5), "API error (no detail)", "api"),
    "a list of errors": (failed(..., errors=["one", 2, "two"]), "one; two", "api"),
    "the status wins over the words": (failed("Invalid API key", api_error_status=401), "Invalid API key", "auth"),
    "the status wins over other words": (failed("see 429 docs", api_error_status=500), "see 429 docs", "api"),
    "status 403": (failed("no", api_error_status=403), "no", "auth"),
    "status 429": (failed("slow down", api_error_status=429), "slow down", "rate_limit"),
    "a status of a wrong type says nothing": (failed("Oops", api_error_status="429"), "Oops", "api"),
    "usage limit": (
        failed("Claude AI usage limit reached|1771606800"),
        "Claude AI usage limit reached|1771606800",
        "usage_limit",
    ),
    "budget": (failed(..., subtype="error_max_budget_usd", errors=["over"]), "over", "budget"),
}


def assert_agrees(lines: Sequence[Line | str | bytes], expected: dict[str, Any], **how: Any) -> None:
    document = inspected(lines, **how)
    assert not differences(expected, document)


@pytest.mark.parametrize("claim", TRANSPORT)
def test_transport(claim: str) -> None:
    assert_agrees(*TRANSPORT[claim])


@pytest.mark.parametrize("claim", BLOCKS)
def test_blocks(claim: str) -> None:
    assert_agrees(*BLOCKS[claim])


@pytest.mark.parametrize("claim", INIT)
def test_init(claim: str) -> None:
    assert_agrees(*INIT[claim])


@pytest.mark.parametrize("claim", RESULTS)
def test_results(claim: str) -> None:
    assert_agrees(*RESULTS[claim])


@pytest.mark.parametrize("claim", USAGE)
def test_usage(claim: str) -> None:
    usage, (input_tokens, output_tokens) = USAGE[claim]
    expected = {"input_tokens": input_tokens, "output_tokens": output_tokens, **QUIET}
    assert_agrees([init(), assistant_line("a"), result("a", usage=usage)], expected)


def test_a_result_without_usage_has_no_tokens() -> None:
    assert_agrees(
        [init(), assistant_line("a"), result("a", usage=...)], {"input_tokens": 0, "output_tokens": 0, **QUIET}
    )


@pytest.mark.parametrize("claim", ERRORS)
def test_errors(claim: str) -> None:
    line, message, category = ERRORS[claim]
    expected = {"error": message, "error_category": category, "run_error": True, "succeeded_cleanly": False}
    assert_agrees([init(), line], expected)


def test_a_long_error_is_cut_at_4096_characters_and_classified_by_the_rest() -> None:
    expected = {"error": LONG[:4096] + " ... (truncated)", "error_category": "rate_limit"}
    assert_agrees([init(), failed(LONG)], expected)
    assert_agrees([init(), failed("x" * 4096 + "429")], {"error_category": "api"})
    assert_agrees([init(), failed("x" * 4096)], {"error": "x" * 4096})


def test_a_notice_of_the_program_wins_over_the_text_and_is_not_an_answer() -> None:
    notice = assistant_line("Invalid API key", error="authentication_failed", model="<synthetic>")
    expected = {"error": "Invalid API key", "error_category": "auth", "output": "", "main_thread_text": ""}
    assert_agrees([init(), notice, failed("Invalid API key")], expected)


def test_the_reset_time_is_read_from_the_text_and_from_the_event() -> None:
    assert_agrees([init(), failed("usage limit reached|1771606800000")], {"resets_at": 1771606800})
    info = {"status": "rejected", "resetsAt": 1771606800, "rateLimitType": "five_hour"}
    event = {"type": "rate_limit_event", "rate_limit_info": info}
    expected = {"resets_at": 1771606800, "rate_limit_status": "rejected", "error_category": "usage_limit"}
    assert_agrees([init(), event, failed("no more", api_error_status=429)], expected)


# The two advisory heuristics.

ASKED = [init(), assistant_line("Which city?", stop_reason="end_turn"), result("Which city?", num_turns=1)]
INTERACTIVE = {
    "error": None,
    "error_category": "interactive",
    "warnings_prefix": ["interactive-hang:"],
    "succeeded": True,
    "succeeded_cleanly": False,
    "run_error": False,
}
LEFT = {
    "error": None,
    "error_category": "background-task",
    "warnings_prefix": ["background-task:"],
    "succeeded_cleanly": False,
}

HEURISTICS: dict[str, tuple[list[Line | str | bytes], dict[str, Any]]] = {
    "a question ends the only turn": ([*ASKED], INTERACTIVE),
    "blanks after the question mark": (
        [init(), assistant_line("Which? \n", stop_reason="end_turn"), result("Which?", num_turns=1)],
        INTERACTIVE,
    ),
    "real streams name the stop reason on the result": (
        [init(), assistant_line("Which city?"), result("Which city?", num_turns=1, stop_reason="end_turn")],
        INTERACTIVE,
    ),
    "the tool that asks": (
        [
            init(),
            assistant_line("Let me ask", call("AskUserQuestion"), stop_reason="end_turn"),
            result("Let", num_turns=1),
        ],
        INTERACTIVE,
    ),
    "the tool that asks, on a line of its own": (
        [
            init(),
            assistant_line("Let me ask"),
            assistant_line(call("AskUserQuestion")),
            result("L", num_turns=1, stop_reason="end_turn"),
        ],
        INTERACTIVE,
    ),
    "two turns": ([init(), assistant_line("Which?", stop_reason="end_turn"), result("Which?", num_turns=2)], QUIET),
    "turns not named": (
        [init(), assistant_line("Which?", stop_reason="end_turn"), result("Which?", num_turns=...)],
        QUIET,
    ),
    "turns as a string": (
        [init(), assistant_line("Which?", stop_reason="end_turn"), result("Which?", num_turns="1")],
        QUIET,
    ),
    "another stop reason": (
        [init(), assistant_line("Which?", stop_reason="max_tokens"), result("Which?", num_turns=1)],
        QUIET,
    ),
    "no stop reason at all": ([init(), assistant_line("Which?"), result("Which?", num_turns=1)], QUIET),
    "no question": ([init(), assistant_line("Done.", stop_reason="end_turn"), result("Done.", num_turns=1)], QUIET),
    "a question before the last word": (
        [init(), assistant_line("Why? Because.", stop_reason="end_turn"), result("Why? Because.", num_turns=1)],
        QUIET,
    ),
    "without a result nothing is guessed": (
        [init(), assistant_line("Which city?", stop_reason="end_turn")],
        {"error_category": None, "warnings_prefix": NO_RESULT},
    ),
    "an error wins over a question": (
        [init(), assistant_line("Which?", stop_reason="end_turn"), failed("429", num_turns=1)],
        {"error_category": "rate_limit"},
    ),
    "a question wins over background work": (
        [
            init(),
            assistant_line(call("Task", "t1", **BACKGROUND)),
            assistant_line("Still waiting on it. Shall I go on?", stop_reason="end_turn"),
            result("x", num_turns=1),
        ],
        INTERACTIVE,
    ),
    "background work and words of waiting": (
        [
            init(),
            assistant_line(call("Task", "t1", **BACKGROUND)),
            assistant_line("Still WAITING ON it."),
            result("x", num_turns=9),
        ],
        LEFT,
    ),
    "background work and too few turns": (
        [
            init(),
            assistant_line(call("Task", "t1", **BACKGROUND), call("Task", "t2", **BACKGROUND)),
            assistant_line("Done."),
            result("x", num_turns=3),
        ],
        LEFT,
    ),
    "the tool by its other name": (
        [
            init(),
            assistant_line(call("Agent", "t1", **BACKGROUND)),
            assistant_line("It runs in the background."),
            result("x", num_turns=9),
        ],
        LEFT,
    ),
    "enough turns and no such words": (
        [
            init(),
            assistant_line(call("Task", "t1", **BACKGROUND)),
            assistant_line("All done."),
            result("All done.", num_turns=3),
        ],
        QUIET,
    ),
    "run_in_background as a word is no launch": (
        [
            init(),
            assistant_line(call("Task", run_in_background="true")),
            assistant_line("in progress"),
            result("x", num_turns=1),
        ],
        QUIET,
    ),
    "run_in_background as 1 is no launch": (
        [
            init(),
            assistant_line(call("Task", run_in_background=1)),
            assistant_line("in progress"),
            result("x", num_turns=1),
        ],
        QUIET,
    ),
    "a task in the foreground is no launch": (
        [
            init(),
            assistant_line(call("Task", run_in_background=False)),
            assistant_line("in progress"),
            result("x", num_turns=1),
        ],
        QUIET,
    ),
    "a command in the background is no launch": (
        [
            init(),
            assistant_line(call("Bash", run_in_background=True)),
            assistant_line("in progress"),
            result("x", num_turns=1),
        ],
        QUIET,
    ),
    "half a word is not waiting": (
        [
            init(),
            assistant_line(call("Task", "t1", **BACKGROUND)),
            assistant_line("discontinuing it"),
            result("x", num_turns=9),
        ],
        QUIET,
    ),
    "work that was seen to end was not left behind": (
        [
            init(),
            assistant_line(call("Agent", "t1", **BACKGROUND)),
            {"type": "system", "subtype": "task_notification", "tool_use_id": "t1", "status": "completed"},
            assistant_line("It ran in the background."),
            result("x", num_turns=2),
        ],
        QUIET,
    ),
    "an error wins over background work": (
        [
            init(),
            assistant_line(call("Task", "t1", **BACKGROUND)),
            assistant_line("waiting on it"),
            failed("boom", num_turns=1),
        ],
        {"error": "boom", "error_category": "api"},
    ),
}


@pytest.mark.parametrize("claim", HEURISTICS)
def test_heuristics(claim: str) -> None:
    assert_agrees(*HEURISTICS[claim])


@pytest.mark.parametrize(
    "claim", [claim for claim, (_, expected) in HEURISTICS.items() if expected in (INTERACTIVE, LEFT)]
)
def test_the_heuristics_can_be_switched_off(claim: str) -> None:
    lines, _ = HEURISTICS[claim]
    assert_agrees(lines, QUIET, rules=Rules(hang_heuristic=False))


def test_background_work_is_not_doubted_if_background_work_is_off() -> None:
    lines, _ = HEURISTICS["background work and too few turns"]
    assert_agrees(lines, QUIET, rules=Rules(background_heuristic=False))
    assert_agrees([*ASKED], INTERACTIVE, rules=Rules(background_heuristic=False))


# How the process ended.

GOOD = [init(), assistant_line("ok"), result("ok")]

ENDINGS: dict[str, tuple[list[Line | str | bytes], Ending, dict[str, Any]]] = {
    "stderr of a failed process is the error": (
        [init()],
        Ending(exit_code=3, stderr="boom on stderr\n"),
        {"error": "boom on stderr\n", "error_category": "process", "run_error": True, "exit_code": 3},
    ),
    "stderr of a process that ended well is dropped": ([*GOOD], Ending(stderr="chatter"), QUIET),
    "stderr of a failed process is the error although there is a result": (
        [*GOOD],
        Ending(exit_code=1, stderr="boom"),
        {"error": "boom", "error_category": "process", "succeeded": False, "final_text": "ok"},
    ),
    "an error in the stream wins over stderr, which becomes a warning": (
        [init(), failed("429")],
        Ending(exit_code=1, stderr="retrying"),
        {"error": "429", "error_category": "rate_limit", "warnings_prefix": ["retrying"]},
    ),
    "a doubt wins over stderr, which becomes a warning": (
        [*ASKED],
        Ending(exit_code=1, stderr="note"),
        {"error": None, "error_category": "interactive", "warnings_prefix": ["interactive-hang:", "note"]},
    ),
    "a failed process without a word after a good result fails the run": (
        [*GOOD],
        Ending(exit_code=1),
        {"error": None, "run_error": True, "error_category": "process", "succeeded": False, "exit_code": 1},
    ),
    "a process that a signal ended after a good result fails the run": (
        [*GOOD],
        Ending(exit_code=-11),
        {"run_error": True, "run_error_reason": "the agent ended with exit code -11 after its result"},
    ),
    "an exit code is said beside what the process printed after a good result": (
        [*GOOD],
        Ending(exit_code=3, stderr="boom"),
        {
            "error": "boom",
            "run_error_reason": "the agent ended with exit code 3 after its result: boom",
            "error_category": "process",
        },
    ),
    "an exit code is said beside another failure": (
        [init(), result("")],
        Ending(exit_code=1),
        {
            "run_error_reason": "the agent ended with an empty result and no text;"
            " the agent ended with exit code 1 after its result"
        },
    ),
    "a process that Bridle ended after a good result has succeeded": (
        [*GOOD],
        Ending(exit_code=-15, ended_by_us=True),
        {"run_error": False, "succeeded_cleanly": True, "exit_code": 0},
    ),
    "a failed process without a word and without a result fails the run": (
        [init(), assistant_line("half")],
        Ending(exit_code=143),
        {"error": None, "run_error": True, "degraded": True, "error_category": "process", "final_text": "half"},
    ),
    "an error in the stream holds although the process ended well": (
        [init(), failed("usage limit reached")],
        Ending(),
        {"error": "usage limit reached", "run_error": True, "error_category": "usage_limit"},
    ),
    "a long stderr is cut": (
        [init()],
        Ending(exit_code=1, stderr="e" * 5000),
        {"error": "e" * 4096 + " ... (truncated)"},
    ),
    "a time-out keeps the text": (
        [init(), assistant_line("so far")],
        Ending(exit_code=-9, timed_out=True),
        {
            "error": "timeout",
            "error_category": "timeout",
            "exit_code": -1,
            "output": "so far",
            "final_text": "so far",
            "degraded": True,
            "run_error": True,
            "succeeded": False,
        },
    ),
    "a time-out keeps stderr as a warning": (
        [init()],
        Ending(exit_code=-9, timed_out=True, stderr="slow"),
        {"error": "timeout", "warnings_prefix": ["slow"]},
    ),
    "a time-out after a clean result leaves the result's outcome": (
        [*GOOD],
        Ending(exit_code=-9, timed_out=True),
        {**QUIET, "succeeded": True, "exit_code": 0},
    ),
    "a time-out after an error leaves the error": (
        [init(), failed("429")],
        Ending(exit_code=-9, timed_out=True),
        {"error": "429", "error_category": "rate_limit", "run_error": True},
    ),
    "a process that we ended after its result ended well": (
        [*GOOD],
        Ending(exit_code=-15, ended_by_us=True, stderr="terminated"),
        {**QUIET, "exit_code": 0, "succeeded": True},
    ),
    "a missing program": (
        [],
        Ending(exit_code=None, not_found="Claude CLI not found: it is not on PATH"),
        {"error_prefix": "Claude CLI not found:", "error_category": None, "exit_code": -1, "run_error": True},
    ),
    "another session than the one to be continued is a fork": (
        [*GOOD],
        Ending(expected_session="another"),
        {"session_forked": True, "session_id": SESSION},
    ),
    "the session to be continued is no fork": ([*GOOD], Ending(expected_session=SESSION), {"session_forked": False}),
    "a stream without a session is no fork": ([], Ending(expected_session=SESSION), {"session_forked": False}),
}


@pytest.mark.parametrize("claim", ENDINGS)
def test_endings(claim: str) -> None:
    lines, ending, expected = ENDINGS[claim]
    assert_agrees(lines, expected, ending=ending)


# Two policies over one record.


def test_the_lenient_policy_has_no_category_for_a_failure_of_the_harness_policy() -> None:
    lenient = Rules(policy=Policy.LENIENT)
    assert_agrees([init()], {"error": None, "error_category": None, "warnings_prefix": NO_RESULT}, rules=lenient)
    assert_agrees([init()], {"error": None, "error_category": "parse", "run_error": True})
    denied = [init(), assistant_line("no"), result("no", permission_denials=[{"tool_name": "Bash"}])]
    assert_agrees(denied, {"error": None, "error_category": None, "succeeded_cleanly": True}, rules=lenient)
    assert_agrees(denied, {"error": None, "error_category": "permission", "succeeded_cleanly": False})


def test_denials_need_not_fail_a_run() -> None:
    denied = [init(), assistant_line("no"), result("no", permission_denials=[{"tool_name": "Bash"}])]
    expected = {**QUIET, "permission_denials": ["Bash"]}
    assert_agrees(denied, expected, rules=Rules(denials_fail=False))


# Tokens from the messages themselves, for streams whose result names none.


def usage(input_tokens: int, output_tokens: int) -> Line:
    return {"input_tokens": input_tokens, "output_tokens": output_tokens}


def test_usage_that_is_repeated_for_each_block_of_a_message_counts_once() -> None:
    lines = [
        init(),
        assistant_line("a", id="m1", usage=usage(10, 1)),
        assistant_line(call("Bash"), id="m1", usage=usage(10, 5)),
        tool_result_line(),
        assistant_line("b", id="m2", usage=usage(20, 2)),
        result("b", usage=...),
    ]
    assert_agrees(lines, {"usage_estimate": usage(30, 7), "input_tokens": 0})


def test_usage_of_parallel_sub_agents_counts_once_for_each_message() -> None:
    lines = [
        init(),
        assistant_line("x", parent="t1", id="s1", usage=usage(1, 1)),
        assistant_line("y", parent="t2", id="s2", usage=usage(2, 2)),
        assistant_line("x", parent="t1", id="s1", usage=usage(1, 3)),
        tool_result_line("t1"),
        assistant_line("y", parent="t2", id="s3", usage=usage(4, 4)),
    ]
    assert_agrees(lines, {"usage_estimate": usage(7, 9)})


def test_messages_without_an_id_are_separate_messages() -> None:
    lines = [init(), assistant_line("a", id=None, usage=usage(1, 1)), assistant_line("b", id=None, usage=usage(2, 2))]
    assert_agrees(lines, {"usage_estimate": usage(3, 3)})


def test_there_is_no_estimate_if_the_result_has_the_tokens() -> None:
    assert_agrees(
        [init(), assistant_line("a", usage=usage(1, 1)), result("a")], {"usage_estimate": None, "input_tokens": 100}
    )


def test_the_first_malformed_lines_are_quoted_and_the_rest_counted() -> None:
    document = inspected([*(f"noise {number}" for number in range(5)), *GOOD])
    prefix = MALFORMED[0]
    assert document["warnings"] == [*(f"{prefix} noise {number}" for number in range(3)), f"{prefix} and 2 more"]


def test_the_last_line_needs_no_newline() -> None:
    assert inspected_bytes(encode_lines(GOOD).removesuffix(b"\n")) == inspected(GOOD)
