"""The category of an error: the agent's own fields come before its text."""

from __future__ import annotations

import pytest

from bridle.wire.record.error_category import (
    ERROR_LIMIT_CHARACTERS,
    NO_DETAIL,
    TRUNCATED,
    Category,
    classify,
    stream_error,
    truncate_error,
)
from bridle.wire.record.record import Failure, Record


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Request rejected (429)", Category.RATE_LIMIT),
        ("Rate-Limit and 401", Category.RATE_LIMIT),
        ("set ANTHROPIC_API_KEY", Category.AUTH),
        ("403 Unauthorized", Category.AUTH),
        ("Weekly limit reached", Category.USAGE_LIMIT),
        ("You've hit your session limit", Category.USAGE_LIMIT),
        ("broken", Category.API),
        ("", Category.API),
    ],
)
def test_a_text_is_classified_by_its_words(text: str, category: Category) -> None:
    assert classify(text) is category


@pytest.mark.parametrize(
    ("failure", "status", "category"),
    [
        (Failure("401 in the text", api_error_status=429), None, Category.RATE_LIMIT),
        (Failure("usage limit reached", api_error_status=429), None, Category.USAGE_LIMIT),
        (Failure("slow down", notice="rate_limit"), "rejected", Category.USAGE_LIMIT),
        (Failure("429 in the text", api_error_status=401), None, Category.AUTH),
        (Failure("x", notice="authentication_failed"), None, Category.AUTH),
        (Failure("429 in the text", subtype="error_max_budget_usd"), None, Category.BUDGET),
        (Failure("429 in the text", api_error_status=500), None, Category.API),
        (Failure("rate limit"), None, Category.RATE_LIMIT),
    ],
)
def test_the_fields_of_the_agent_come_before_its_text(failure: Failure, status: str | None, category: Category) -> None:
    assert stream_error(failure, Record(rate_limit_status=status))[1] is category


def test_an_error_without_a_text_has_a_fixed_one_and_a_long_one_is_cut() -> None:
    assert stream_error(Failure(), Record()) == (NO_DETAIL, Category.API)
    assert truncate_error("x" * ERROR_LIMIT_CHARACTERS) == "x" * ERROR_LIMIT_CHARACTERS
    assert truncate_error("x" * 5000) == "x" * ERROR_LIMIT_CHARACTERS + TRUNCATED
