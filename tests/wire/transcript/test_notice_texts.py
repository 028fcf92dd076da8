"""The texts of notices."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.transcript.items import Failure, Notice
from tests.wire.fixtures.conversations import transcript_of


def notices(*lines: dict[str, Any]) -> list[str]:
    return [item.text for item in transcript_of(*lines).items() if isinstance(item, Notice)]


def system(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": subtype, **fields}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            system("api_retry", error="overloaded", error_status=529, attempt=2, max_retries=10, retry_delay_ms=1500),
            "overloaded (529): retry 2 of 10 in 1.5 s",
        ),
        (system("api_retry"), "the request failed: retry"),
        (system("status", status="compacting"), "started"),
        (system("status", compact_error="no room"), "failed: no room"),
        (system("status", permissionMode="plan"), "mode is now plan"),
        (system("task_notification", status="failed", summary="build"), "build (failed)"),
        (system("task_notification", status="completed", summary="build completed"), "build completed"),
        (system("task_notification"), "task ended"),
        (system("hello", content="a text of a later version"), "a text of a later version"),
        (
            {
                "type": "control_request",
                "request_id": "r",
                "request": {"subtype": "can_use_tool", "tool_name": "Bash", "description": "list files"},
            },
            "asked for Bash: list files",
        ),
    ],
)
def test_each_event_has_its_text(line: dict[str, Any], text: str) -> None:
    assert notices(line) == [text]


@pytest.mark.parametrize(
    ("resets_at", "text"),
    [
        (1794704457, "2026-11-15 01:00 UTC"),
        (1794704457000, "2026-11-15 01:00 UTC"),
        (-1, "at -1"),
        (10**20, "at 100000000000000000000"),
    ],
)
def test_a_reset_time_is_read_in_seconds_and_in_milliseconds(resets_at: int, text: str) -> None:
    info = {"status": "rejected", "resetsAt": resets_at}
    assert notices({"type": "rate_limit_event", "rate_limit_info": info}) == [f"rejected, resets {text}"]


@pytest.mark.parametrize(("response", "text"), [({"error": "no such mode"}, "no such mode"), ({}, "refused")])
def test_a_refused_control_request_says_why(response: dict[str, Any], text: str) -> None:
    line = {"type": "control_response", "response": {"subtype": "error", "request_id": "r", **response}}
    (failure,) = transcript_of(line).items()
    assert isinstance(failure, Failure)
    assert (failure.name, failure.text) == ("control request", text)
