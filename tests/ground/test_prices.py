from __future__ import annotations

import subprocess
import sys

import pytest

from bridle.ground.prices import cost_usd


def sonnet(model: str = "claude-sonnet-4-5") -> float | None:
    return cost_usd(
        model,
        input_tokens=12,
        cache_write_tokens=3,
        cache_read_tokens=4,
        output_tokens=9,
        input_includes_cached=False,
    )


def test_input_without_cached_tokens_costs_what_the_real_program_reports() -> None:
    assert sonnet() == pytest.approx(0.00018345, abs=1e-12)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5[1m]"])
def test_a_dated_or_widened_model_costs_the_same(model: str) -> None:
    assert sonnet(model) == sonnet()


def test_input_that_includes_cached_tokens_gives_the_same_cost() -> None:
    cost = cost_usd(
        "claude-sonnet-4-5",
        input_tokens=19,
        cache_write_tokens=3,
        cache_read_tokens=4,
        output_tokens=9,
        input_includes_cached=True,
    )
    assert cost == sonnet()


def test_tokens_cached_for_an_hour_cost_more_than_those_for_five_minutes() -> None:
    cost = cost_usd(
        "claude-sonnet-4-5",
        input_tokens=0,
        output_tokens=0,
        cache_write_1h_tokens=1_000,
        input_includes_cached=False,
    )
    assert cost == pytest.approx(0.006)


def test_a_request_above_the_threshold_of_its_model_costs_more_for_each_token() -> None:
    small, large = (
        cost_usd("claude-sonnet-4-5", input_tokens=tokens, output_tokens=0, input_includes_cached=False)
        for tokens in (100_000, 1_000_000)
    )
    assert small == pytest.approx(0.3)
    assert large == pytest.approx(6.0)


def test_cached_parts_above_the_whole_do_not_stop_the_count() -> None:
    cost = cost_usd("gpt-5", input_tokens=10, cache_read_tokens=40, output_tokens=0, input_includes_cached=True)
    assert cost == pytest.approx(40 * 0.125e-6)


def test_an_unknown_model_has_no_price() -> None:
    assert cost_usd("no-such-model", input_tokens=1, output_tokens=1, input_includes_cached=True) is None
    unknown = cost_usd("gpt-5", input_tokens=1, output_tokens=1, input_includes_cached=True, provider="nobody")
    assert unknown is None


def test_importing_the_module_does_not_import_the_price_list() -> None:
    code = "import sys, bridle.ground.prices; sys.exit('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
