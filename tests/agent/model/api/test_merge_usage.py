from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.model.api.stream_assembly import merge_usage

START: dict[str, Any] = {
    "input_tokens": 100,
    "cache_read_input_tokens": 7,
    "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 1,
    "service_tier": "standard",
}


@pytest.mark.parametrize(
    ("later", "changed"),
    [
        ({}, {}),
        ({"output_tokens": 20}, {"output_tokens": 20}),
        ({"output_tokens": 0}, {"output_tokens": 0}),
        ({"input_tokens": 0, "cache_read_input_tokens": None, "output_tokens": 20}, {"output_tokens": 20}),
        ({"input_tokens": 120}, {"input_tokens": 120}),
        ({"cache_creation_input_tokens": 0}, {"cache_creation_input_tokens": 0}),
        ({"server_tool_use": {"web_search_requests": 2}}, {"server_tool_use": {"web_search_requests": 2}}),
        (
            {"cache_creation": {"ephemeral_1h_input_tokens": 5}},
            {"cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 5}},
        ),
    ],
)
def test_the_last_figures_are_totals_over_the_first(later: dict[str, Any], changed: dict[str, Any]) -> None:
    assert merge_usage(START, later) == {**START, **changed}


def test_a_figure_that_was_not_known_at_first_is_taken() -> None:
    assert merge_usage({"input_tokens": 0, "x": 1}, {"input_tokens": 50}) == {"input_tokens": 50, "x": 1}
