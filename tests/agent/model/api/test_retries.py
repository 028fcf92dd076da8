"""Trouble that passes: what is tried again, when, and with which model."""

from __future__ import annotations

import pytest

from bridle.agent.model.api.models import resolve_model
from bridle.agent.model.api.stream_pieces import ModelFallback, Retrying
from tests.agent.fixtures.model_answers import (
    FINE,
    Answer,
    ask_stage,
    error,
    models,
    streams,
)


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (401, "authentication_failed"),
        (408, "server_error"),
        (409, "server_error"),
        (429, "rate_limit"),
        (500, "server_error"),
        (502, "server_error"),
        (529, "overloaded"),
    ],
)
def test_a_temporary_error_is_retried_and_reported(code: int, word: str) -> None:
    heard, stage = ask_stage(error(code, times=2), FINE)
    assert heard.only(Retrying) == [Retrying(1, 10, 500.0, code, word), Retrying(2, 10, 1000.0, code, word)]
    assert (heard.waits, heard.texts, streams(stage)) == ([0.5, 1.0], ["fine"], [True, True, True])


def test_waits_double_up_to_half_a_minute_and_end_after_ten_tries() -> None:
    heard, stage = ask_stage(error(429))
    assert heard.waits == [0.5, 1, 2, 4, 8, 16, 32, 32, 32, 32]
    assert [piece.attempt for piece in heard.only(Retrying)] == list(range(1, 11))
    assert len(stage.requests) == 11


@pytest.mark.parametrize(("told", "waited"), [("3", 3.0), ("1.5", 1.5), ("0", 0.5), ("soon", 0.5), ("-1", 0.5)])
def test_a_server_that_names_the_wait_gets_exactly_that(told: str, waited: float) -> None:
    heard, _ = ask_stage(error(429, times=1, headers={"retry-after": told}), FINE)
    assert heard.waits == [waited]
    assert heard.only(Retrying)[0].delay_ms == waited * 1000


def test_a_wait_that_is_named_in_milliseconds_or_by_a_date_is_understood() -> None:
    heard, _ = ask_stage(error(503, times=1, headers={"retry-after-ms": "250"}), FINE)
    assert heard.waits == [0.25]
    heard, _ = ask_stage(error(503, times=1, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), FINE)
    assert heard.waits == [0.5]


def test_a_server_that_names_a_wait_of_an_hour_ends_the_turn() -> None:
    heard, stage = ask_stage(error(429, headers={"retry-after": "3600"}, message="come back later"))
    assert (heard.waits, len(stage.requests)) == ([], 1)
    assert heard.failure is not None
    assert heard.failure.text == "API Error: Request rejected (429) · come back later · Try again in 3600 seconds"


def test_what_the_server_says_about_trying_again_counts() -> None:
    heard, stage = ask_stage(error(500, headers={"x-should-retry": "false"}))
    assert (heard.waits, len(stage.requests)) == ([], 1)
    heard, stage = ask_stage(error(400, times=1, headers={"x-should-retry": "true"}), FINE)
    assert (heard.only(Retrying), heard.texts) == ([Retrying(1, 10, 500.0, 400, "unknown")], ["fine"])


def test_the_number_of_tries_can_be_set() -> None:
    heard, stage = ask_stage(error(500), CLAUDE_CODE_MAX_RETRIES="3")
    assert [(piece.attempt, piece.max_retries) for piece in heard.only(Retrying)] == [(1, 3), (2, 3), (3, 3)]
    assert len(stage.requests) == 4
    heard, stage = ask_stage(error(500), CLAUDE_CODE_MAX_RETRIES="0")
    assert (heard.waits, len(stage.requests)) == ([], 1)


def test_a_server_that_hangs_up_before_its_answer_is_asked_again() -> None:
    heard, stage = ask_stage({"kind": "drop_connection"}, FINE)
    assert heard.only(Retrying) == [Retrying(1, 10, 500.0, None, "unknown")]
    assert (heard.texts, streams(stage)) == (["fine"], [True, True])


def test_another_model_is_asked_after_three_overloads() -> None:
    heard, stage = ask_stage(error(529, times=3), FINE, fallbacks="sonnet")
    assert models(stage) == ["claude-opus-4-8"] * 3 + ["claude-sonnet-5"]
    sonnet = resolve_model("sonnet", {})
    words = "Switched to Sonnet 5 due to high demand for Opus 4.8"
    assert heard.only(ModelFallback) == [
        ModelFallback("claude-opus-4-8", "claude-sonnet-5", sonnet, "overloaded", words)
    ]
    assert (heard.texts, heard.waits) == (["fine"], [0.5, 1.0])


def test_every_model_of_the_list_has_its_turn_and_the_last_one_all_tries() -> None:
    heard, stage = ask_stage(error(529), fallbacks="sonnet,haiku", CLAUDE_CODE_MAX_RETRIES="5")
    assert models(stage) == [
        *["claude-opus-4-8"] * 3,
        *["claude-sonnet-5"] * 3,
        *["claude-haiku-4-5-20251001"] * 6,
    ]
    assert [piece.attempt for piece in heard.only(Retrying)] == [1, 2, 1, 2, 1, 2, 3, 4, 5]
    assert stage.requests[-1].body["thinking"] == {"type": "enabled", "budget_tokens": 31999}
    assert heard.failure is not None
    assert (heard.failure.status, heard.failure.error) == (529, "server_error")


def test_another_model_is_asked_at_once_after_a_fault_of_the_server() -> None:
    heard, stage = ask_stage(error(500, times=1), FINE, fallbacks="sonnet")
    assert (models(stage), heard.waits) == (["claude-opus-4-8", "claude-sonnet-5"], [])
    assert heard.only(ModelFallback)[0].trigger == "server_error"


@pytest.mark.parametrize(("code", "requests"), [(400, 2), (404, 4)])
def test_another_model_is_the_last_resort_when_one_is_refused_for_good(code: int, requests: int) -> None:
    heard, stage = ask_stage(error(code, message="no such thing"), fallbacks="sonnet")
    assert len(stage.requests) == requests
    [fell] = heard.only(ModelFallback)
    assert (fell.trigger, fell.model.id) == ("last_resort", "claude-sonnet-5")
    assert fell.content.startswith(
        f"Switched to Sonnet 5 because Opus 4.8 returned an error that could not be retried ({code} {{"
    )
    assert heard.failure is not None
    assert heard.failure.status == code


@pytest.mark.parametrize(
    "answer", [error(403), error(401), error(429), error(413), error(400, message="prompt is too long: 9 > 8")]
)
def test_another_model_would_not_help_with_these(answer: Answer) -> None:
    heard, stage = ask_stage(answer, fallbacks="sonnet", CLAUDE_CODE_MAX_RETRIES="1")
    assert set(models(stage)) == {"claude-opus-4-8"}
    assert heard.only(ModelFallback) == []
    assert heard.failure is not None


def test_a_model_is_not_its_own_substitute() -> None:
    heard, stage = ask_stage(error(529), fallbacks="opus")
    assert (heard.only(ModelFallback), len(stage.requests)) == ([], 3)


def test_an_overload_inside_streams_leads_to_another_model_too() -> None:
    broken = {"kind": "overloaded_in_stream", "blocks": ["x"], "after_events": 1, "times": 3}
    heard, stage = ask_stage(broken, FINE, fallbacks="sonnet")
    assert models(stage) == ["claude-opus-4-8"] * 3 + ["claude-sonnet-5"]
    assert heard.only(ModelFallback)[0].trigger == "overloaded"
