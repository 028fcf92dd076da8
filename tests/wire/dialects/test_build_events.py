"""The subtype of a failed result by the wording of other agents, and lines that are kept whole."""

from __future__ import annotations

import pytest

from bridle.wire.dialects.build_events import ERROR, error_subtype, ignored_line, unknown_line
from bridle.wire.events.events import ERROR_AUTH, ERROR_RATE, Unknown


@pytest.mark.parametrize(
    ("message", "subtype"),
    [
        ("You exceeded your current quota", ERROR_RATE),
        ("RESOURCE_EXHAUSTED: try later", ERROR_RATE),
        ("Incorrect API key provided", ERROR_AUTH),
        ("set OPENAI_API_KEY", ERROR_AUTH),
        ("429: rate limit of OPENAI_API_KEY", ERROR),
        ("the build failed", ERROR),
        ("", ERROR),
    ],
)
def test_limits_come_before_the_login_and_both_before_any_other_error(message: str, subtype: str) -> None:
    assert error_subtype(message) == subtype


def test_lines_without_facts_and_unknown_lines_keep_their_object_and_bytes() -> None:
    value = {"type": ["odd"], "a": 1}
    assert ignored_line(value, b"raw").value["line"] == value
    assert unknown_line(value, b"raw") == Unknown(kind="", value=value)
    assert unknown_line({"type": "x"}, b"raw").raw == b"raw"
