"""Trouble that stays: the end of a turn."""

from __future__ import annotations

import asyncio
import socket

import pytest

from bridle.agent.model.api.stream_pieces import Retrying
from tests.agent.fixtures.loopback_server import (
    answering,
    serving,
    status,
)
from tests.agent.fixtures.model_answers import (
    FINE,
    LONG,
    ask_stage,
    collect,
    collect_from,
    error,
    host_and_port,
    streams,
)

NOT_LOGGED_IN = (
    "Not logged in · Run bridle-agent auth login, or bridle-agent auth login --from-claude to use the login of Claude"
    " Code, or set ANTHROPIC_API_KEY"
)


def test_a_model_in_demand_is_given_up_after_three_overloads_in_a_row() -> None:
    heard, stage = ask_stage(error(529))
    assert (len(stage.requests), heard.waits) == (3, [0.5, 1.0])
    assert heard.failure is not None
    assert heard.failure.text == (
        "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary. Try again in a "
        f"moment. If it persists, check your inference gateway ({host_and_port(stage)})."
    )
    assert (heard.failure.status, heard.failure.error, heard.failure.request_id) == (None, "server_error", None)
    assert len(ask_stage(error(529), model="haiku")[1].requests) == 11
    heard, stage = ask_stage(error(529, times=2), error(500, times=1), error(529, times=2), FINE)
    assert (heard.texts, len(stage.requests)) == (["fine"], 6)


NO_MODEL = (
    "There's an issue with the selected model (claude-opus-4-8). It may not exist or you may not have access to it. "
    "Run --model to pick a different model."
)
PASSING = "This is a server-side issue, usually temporary — try again in a moment."


@pytest.mark.parametrize(
    ("code", "said", "text", "kind", "reason"),
    [
        (400, "bad thing", "API Error: 400 bad thing", "unknown", "completed"),
        (402, "pay", "API Error: 402 pay", "unknown", "completed"),
        (422, "hm", "API Error: 422 hm", "unknown", "completed"),
        (408, "late", "API Error: 408 late", "unknown", "completed"),
        (401, "invalid x-api-key", "Invalid API key · Fix external API key", "authentication_failed", "completed"),
        (401, "no", "Failed to authenticate. API Error: 401 no", "authentication_failed", "completed"),
        (403, "forbidden", "Failed to authenticate. API Error: 403 forbidden", "authentication_failed", "completed"),
        (
            404,
            "model: x",
            NO_MODEL,
            "model_not_found",
            "completed",
        ),
        (429, "slow down", "API Error: Request rejected (429) · slow down", "rate_limit", "completed"),
        (413, "large", "Request too large (max 32MB). Try with a smaller file.", "invalid_request", "image_error"),
        (
            400,
            "prompt is too long: 250000 tokens > 200000 maximum",
            "Prompt is too long · 250000 tokens > 200000 maximum",
            "invalid_request",
            "prompt_too_long",
        ),
        (413, "Prompt is too long", "Prompt is too long", "invalid_request", "prompt_too_long"),
        (
            400,
            "Your credit balance is too low to access the Anthropic API.",
            "Credit balance is too low",
            "billing_error",
            "completed",
        ),
        (
            500,
            "boom",
            f"API Error: 500 boom. {PASSING} If it persists, check your inference gateway (PLACE).",
            "server_error",
            "completed",
        ),
    ],
)
def test_a_permanent_error_ends_the_turn_with_the_text_that_programs_match(
    code: int, said: str, text: str, kind: str, reason: str
) -> None:
    heard, stage = ask_stage(error(code, message=said), CLAUDE_CODE_MAX_RETRIES="0")
    failure = heard.failure
    assert failure is not None
    assert failure.text == text.replace("PLACE", host_and_port(stage))
    assert (failure.status, failure.error, failure.terminal_reason) == (code, kind, reason)
    assert failure.request_id == stage.requests[-1].request_id


@pytest.mark.parametrize("body", [b"<html>\n  <h1>Bad   Gateway</h1></html>", b"", b"{", b'{"error": 7}', b"\xff\xfe"])
def test_an_error_page_that_is_not_json_is_reported_on_one_line(body: bytes) -> None:
    async def main() -> str:
        async with serving(answering(status(502, body, "text/html"))) as server:
            heard = await collect(server.url, CLAUDE_CODE_MAX_RETRIES="0")
            assert heard.failure is not None
            return heard.failure.text

    text = asyncio.run(main())
    assert text.startswith("API Error: 502 ")
    assert "\n" not in text


def test_a_token_that_is_refused_means_not_logged_in() -> None:
    heard, _ = ask_stage(error(401), ANTHROPIC_API_KEY="", ANTHROPIC_AUTH_TOKEN="t", CLAUDE_CODE_MAX_RETRIES="0")
    assert heard.failure is not None
    assert (heard.failure.text, heard.failure.status) == (NOT_LOGGED_IN, 401)
    token = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_AUTH_TOKEN": "t", "CLAUDE_CODE_MAX_RETRIES": "0"}
    heard, _ = ask_stage(error(401, message="the token has expired"), **token)
    assert heard.failure is not None
    assert heard.failure.text == "Failed to authenticate. API Error: 401 the token has expired"


def test_without_any_credential_nothing_is_asked() -> None:
    heard, stage = ask_stage(FINE, ANTHROPIC_API_KEY="")
    assert (heard.pieces, stage.requests) == ([], ())
    assert heard.failure is not None
    assert (heard.failure.text, heard.failure.error) == (NOT_LOGGED_IN, "authentication_failed")
    assert heard.failure.status is None


def test_a_closed_port_is_reported_after_the_last_retry() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        heard = collect_from(f"http://127.0.0.1:{free.getsockname()[1]}", CLAUDE_CODE_MAX_RETRIES="2")
    assert [(piece.status, piece.error) for piece in heard.only(Retrying)] == [(None, "unknown")] * 2
    assert heard.failure is not None
    assert heard.failure.text == "API Error: Unable to connect to API (ConnectionRefused)"
    assert (heard.failure.status, heard.failure.error) == (None, "server_error")


def test_a_connection_that_always_breaks_is_an_error() -> None:
    heard, stage = ask_stage({"kind": "drop_connection", "times": "forever"}, CLAUDE_CODE_MAX_RETRIES="0")
    assert heard.failure is not None
    assert heard.failure.text == "API Error: Unable to connect to API (ECONNRESET)"
    heard, stage = ask_stage({"kind": "drop_connection", "blocks": [LONG], "after_events": 4, "times": "forever"})
    assert heard.failure is not None
    assert heard.failure.text == (
        "API Error: Connection to the API was lost (ECONNRESET). This is usually temporary — try again."
    )
    assert (streams(stage), heard.failure.error) == ([True, False], "server_error")


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("<html>", "application/json", "API Error: Failed to parse JSON"),
        ("<html>", "text/html", None),
        ("", "application/json", None),
        ('{"hello": 1}', "application/json", None),
        ("[]", "application/json", None),
    ],
)
def test_an_answer_that_is_invalid_ends_the_turn(body: str, content_type: str, text: str | None) -> None:
    heard, stage = ask_stage({"kind": "malformed", "text": body, "content_type": content_type, "times": "forever"})
    assert heard.failure is not None
    assert heard.failure.text == text or heard.failure.text.startswith("API Error: API returned an empty or malformed")
    assert (heard.failure.error, heard.failure.status, heard.waits) == ("unknown", None, [])
    assert streams(stage) == [True, False]
