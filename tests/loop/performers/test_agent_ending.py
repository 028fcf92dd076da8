"""Limits, overload, logins and bills are told apart, whatever agent says it and in whatever form."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from bridle.loop.effect_results import CRASHED, LIMIT, OK, TRANSIENT, UNUSABLE
from bridle.loop.performers.agent_ending import classify_ending
from bridle.run.budget import Cost
from bridle.run.finished import Finished
from bridle.wire.dialects.dialect_table import decoder_for
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.recorder import Recorder

NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
SESSION = "10f6d3c2-0000-4000-8000-000000000001"


def finished(agent: str, *lines: Any, exit_code: int = 1, stderr: str = "") -> Finished:
    """What the runner gives for these lines; a text is a line that is no JSON."""
    decoder, recorder = decoder_for(agent), Recorder()
    for line in lines:
        text = line if isinstance(line, str) else json.dumps(line)
        recorder.add_all(decoder.feed(text.encode() + b"\n"))
    recorder.add_all(decoder.end())
    outcome = judge(recorder.record, Ending(exit_code=exit_code, stderr=stderr))
    return Finished(recorder.record, outcome, Cost(None, None), 1, 1.0)


def result(text: str, **more: Any) -> dict[str, Any]:
    """How Claude Code ends with an error."""
    known = {"type": "result", "subtype": "success", "is_error": True, "result": text, "session_id": SESSION}
    return {**known, "num_turns": 1, "duration_ms": 1, "usage": {"input_tokens": 0, "output_tokens": 0}, **more}


def told(agent: str, *lines: Any, **more: Any) -> tuple[str | None, str | None]:
    end = classify_ending(finished(agent, *lines, **more), agent=agent, question="", changed=False, now=NOW)
    return end.ending, end.limit_resets_at


def codex(message: str) -> list[dict[str, Any]]:
    return [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
        {"type": "error", "message": message},
        {"type": "turn.failed", "error": {"message": message}},
    ]


def gemini(message: str) -> list[dict[str, Any]]:
    return [
        {"type": "init", "session_id": "s", "model": "gemini-2.5-pro"},
        {"type": "result", "status": "error", "error": {"type": "ApiError", "message": message}, "stats": {}},
    ]


AT_THREE = "2026-11-15T20:00:00.000Z"


@pytest.mark.parametrize(
    ("agent", "lines", "what", "resets_at"),
    [
        ("claude", [result("5-hour limit reached · resets 3pm (America/New_York)")], LIMIT, AT_THREE),
        ("claude", [result("You've hit your limit · resets 3pm (America/New_York)")], LIMIT, AT_THREE),
        ("claude", [result("You've hit your session limit · resets 3pm (America/New_York)", api_error_status=429)],
         LIMIT, AT_THREE),
        ("claude", [result("Claude AI usage limit reached|1794750000")], LIMIT, "2026-11-15T13:40:00.000Z"),
        ("claude", [result("Claude AI usage limit reached|99999999999999999")], LIMIT, None),
        ("claude", [{"type": "rate_limit_event", "session_id": SESSION,
                     "rate_limit_info": {"status": "rejected", "resetsAt": 10**15}},
                    result("You've hit your limit")], LIMIT, None),
        ("claude", [result("API Error: 429 rate_limit_error", api_error_status=429)], TRANSIENT, None),
        ("claude", [result("API Error: 529 overloaded_error", api_error_status=529)], TRANSIENT, None),
        ("claude", [result("API Error (Connection error.)")], TRANSIENT, None),
        ("claude", [result("API Error: 500 Internal server error", api_error_status=500)], TRANSIENT, None),
        ("claude", [result("Invalid API key · Please run /login")], UNUSABLE, None),
        ("claude", [result("Invalid API key · Fix external API key")], UNUSABLE, None),
        ("claude", [result("OAuth token has expired. Please obtain a new token")], UNUSABLE, None),
        ("claude", [result("Credit balance is too low")], UNUSABLE, None),
        ("claude", [result("Credit balance is too low", api_error_status=400)], UNUSABLE, None),
        ("claude", ["Invalid API key · Please run /login"], UNUSABLE, None),
        ("claude", ["Claude AI usage limit reached|1794750000"], LIMIT, "2026-11-15T13:40:00.000Z"),
        ("claude", [result("Prompt is too long", api_error_status=400)], OK, None),
        ("codex", codex("You've hit your usage limit. Upgrade to Pro or try again in 1 hour 30 minutes."),
         LIMIT,
         "2026-11-15T14:00:00.000Z"),
        ("codex", codex("You've hit your usage limit, or try again at Nov 20th, 2026 8:19 PM."), LIMIT,
         "2026-11-20T20:19:00.000Z"),
        ("codex", codex("unexpected status 401 Unauthorized: Missing bearer or basic authentication"), UNUSABLE,
         None),
        ("codex", codex("Quota exceeded. Check your plan and billing details. (insufficient_quota)"), UNUSABLE,
         None),
        ("codex", codex("exceeded retry limit, last status: 429 Too Many Requests"), TRANSIENT, None),
        ("codex", codex("stream disconnected before completion"), TRANSIENT, None),
        ("gemini", gemini("You have exhausted your capacity on this model. Your quota will reset after 1h30m0s."),
         LIMIT, "2026-11-15T14:00:00.000Z"),
        ("gemini", gemini("[429] RESOURCE_EXHAUSTED Resource has been exhausted (e.g. check quota)."),
         TRANSIENT,
         None),
        ("gemini", gemini("API key not valid. Please pass a valid API key."), UNUSABLE, None),
    ],
)  # fmt: skip
def test_each_failure_is_what_it_is(agent: str, lines: list[Any], what: str, resets_at: str | None) -> None:
    assert told(agent, *lines) == (what, resets_at)


@pytest.mark.parametrize(
    ("stderr", "what"),
    [
        ("Error: Invalid API key · Please run /login", UNUSABLE),
        ("ERROR: You've hit your usage limit. Try again in 1 hour.", LIMIT),
        ("Credit balance is too low", UNUSABLE),
        ("Please set an Auth method in your settings or specify GEMINI_API_KEY", UNUSABLE),
        ("Segmentation fault", CRASHED),
        ("node: line 529 of 503", CRASHED),
    ],
)
def test_a_program_that_died_before_it_did_anything_says_why(stderr: str, what: str) -> None:
    assert told("codex", stderr=stderr)[0] == what


def test_what_an_agent_writes_about_is_not_what_happened_to_it() -> None:
    words = "I made the page that says: Usage limit reached, please run /login; credit balance is too low. 529."
    fine = result(words, is_error=False)
    assert told("claude", fine, exit_code=0) == (OK, None)
    work = [{"type": "text", "text": words}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    died = {"type": "assistant", "message": {"role": "assistant", "content": work}, "session_id": SESSION}
    assert told("claude", died) == (CRASHED, None)


def test_a_connection_lost_in_mid_work_is_no_try_of_the_task() -> None:
    call = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]
    work = {"type": "assistant", "message": {"role": "assistant", "content": call}, "session_id": SESSION}
    for name in ("ConnectionRefused", "FailedToOpenSocket", "ECONNRESET"):
        assert told("claude", work, result(f"API Error: Unable to connect to API ({name})"))[0] == TRANSIENT


def test_a_user_reads_what_to_do() -> None:
    for message, remedy in (
        ("Credit balance is too low", "Add credit"),
        ("Not logged in", "Run claude and log in"),
        ("This organization has been disabled", "log in"),
    ):
        end = classify_ending(finished("claude", result(message)), agent="claude", question="", changed=False, now=NOW)
        assert message.lower() in end.message.lower()
        assert remedy in end.message
        assert "bridle resume" in end.message


def test_a_login_failure_is_described_once() -> None:
    end = classify_ending(
        finished("claude", result("Not logged in · Please run /login")),
        agent="claude",
        question="",
        changed=False,
        now=NOW,
    )
    assert end.message.startswith("claude is not logged in. Run claude and log in")
    assert "/login" not in end.message
