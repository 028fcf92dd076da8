from __future__ import annotations

import subprocess
import sys

import pytest
from genai_prices import Usage, calc_price

from bridle.ground.prices import cost_usd
from tools import price_list as maker


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


def test_the_short_list_is_what_its_maker_makes_of_the_library_today() -> None:
    assert maker.PLACE.read_text("utf-8") == maker.rendered(), "run: python -m tools.price_list"


# Inside and outside of every step, and at both sides of its edge.
INPUTS = (0, 1, 7, 99_999, 100_001, 199_999, 200_000, 200_001, 999_983)


LISTED = [(provider, name) for provider, names in maker.NAMES.items() for name in names]


@pytest.mark.parametrize(("provider", "name"), [(one, name) for one, name in LISTED if name not in maker.MEASURED])
@pytest.mark.parametrize("suffix", ["", "-20260314", "-2026-03-14"])
def test_the_list_and_the_library_give_the_same_cost_to_the_last_digit(provider: str, name: str, suffix: str) -> None:
    for plain in INPUTS:
        for output, read, write, write_1h in (
            (0, 0, 0, 0),
            (20, 3, 0, 0),
            (12_345, 100_003, 17, 9),
            (1, 0, 50_021, 11),
        ):
            ours = cost_usd(
                name + suffix,
                input_tokens=plain,
                output_tokens=output,
                cache_read_tokens=read,
                cache_write_tokens=write,
                cache_write_1h_tokens=write_1h,
                input_includes_cached=False,
            )
            usage = Usage(
                input_tokens=plain + read + write + write_1h,
                output_tokens=output,
                cache_read_tokens=read,
                cache_write_tokens=write + write_1h,
                cache_write_1h_tokens=write_1h,
            )
            assert ours == float(calc_price(usage, model_ref=name, provider_id=provider).total_price)


@pytest.mark.parametrize("name", maker.MEASURED)
def test_a_price_that_was_measured_still_differs_from_the_library(name: str) -> None:
    assert maker.steps(name, "anthropic") != maker.library_steps(name, "anthropic"), (
        f"{name} can be left to the library"
    )


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("claude-opus-4-8[1m]", 0.001),
        ("claude-haiku-4-5-20251001", 0.0002),
        ("claude-sonnet-5", 0.0006),
        ("claude-fable-5", 0.002),
        ("claude-sonnet-4-5-20250929", 0.0006),
    ],
)
def test_a_hundred_tokens_in_and_twenty_out_cost_what_the_real_program_reports(model: str, dollars: float) -> None:
    assert cost_usd(model, input_tokens=100, output_tokens=20, input_includes_cached=False) == pytest.approx(dollars)


@pytest.mark.parametrize("provider", maker.NAMES)
def test_a_model_is_found_with_and_without_its_provider(provider: str) -> None:
    name = maker.NAMES[provider][0]
    one, other = (
        cost_usd(name, input_tokens=9, output_tokens=9, input_includes_cached=False, provider=named)
        for named in (provider, None)
    )
    assert one == other
    assert one


def test_a_name_that_only_ends_like_a_date_is_another_model() -> None:
    for name in ("gpt-5-2025x08-07", "gpt-5-٢٠٢٥٠٨٠٧", "gpt-520250807", "-20250807", ""):
        assert cost_usd(name, input_tokens=1, output_tokens=1, input_includes_cached=True) is None


def test_without_the_library_the_list_still_has_its_models_and_others_have_no_price() -> None:
    code = (
        "import sys; sys.modules['genai_prices'] = None; from bridle.ground.prices import cost_usd; "
        "costs = [cost_usd(name, input_tokens=1, output_tokens=1, input_includes_cached=False)"
        " for name in ('gpt-5-codex', 'gemini-2.5-pro', 'claude-opus-4-8', 'mistral-large-latest')]; "
        "sys.exit([bool(cost) for cost in costs] != [True, True, True, False] or costs[3] is not None)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_another_provider_is_asked_of_the_library() -> None:
    cost = cost_usd("claude-opus-4-8", input_tokens=1, output_tokens=1, input_includes_cached=False, provider="nobody")
    assert cost is None


def test_the_models_of_the_list_need_no_library() -> None:
    code = (
        "import sys; from bridle.ground.prices import cost_usd; from bridle.ground.price_list import PRICES; "
        "names = [name for prices in PRICES.values() for name in prices]; "
        "costs = [cost_usd(name, input_tokens=1, output_tokens=1, input_includes_cached=False) for name in names]; "
        "sys.exit('genai_prices' in sys.modules or not all(costs))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
