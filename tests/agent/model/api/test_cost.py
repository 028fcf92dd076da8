from __future__ import annotations

import pytest

from bridle.agent.model.api.cost import CostLedger, Usage, usage_cost_usd
from bridle.agent.model.api.models import resolve_model

USAGE = {"input_tokens": 100, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


# As the real program reports them: the recordings 17g and 04b.
@pytest.mark.parametrize(
    ("name", "dollars"),
    [
        (None, 0.001),
        ("haiku", 0.0002),
        ("sonnet", 0.0006),
        ("fable", 0.002),
        ("claude-sonnet-4-5-20250929", 0.0006),
        ("custom-model-x", 0.001),
    ],
)
def test_an_answer_costs_what_the_real_program_reports(name: str | None, dollars: float) -> None:
    assert usage_cost_usd(resolve_model(name, {}).id, Usage.parse(USAGE)) == pytest.approx(dollars)


def test_cached_tokens_and_searches_are_counted() -> None:
    usage = {
        "input_tokens": 1_000_000,
        "output_tokens": 0,
        "cache_read_input_tokens": 1_000_000,
        "cache_creation_input_tokens": 3_000_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 1_000_000, "ephemeral_1h_input_tokens": 2_000_000},
        "server_tool_use": {"web_search_requests": 3},
    }
    assert usage_cost_usd("claude-opus-4-8", Usage.parse(usage)) == pytest.approx(5 + 0.5 + 6.25 + 20 + 0.03)


@pytest.mark.parametrize(
    "usage", [{}, {"input_tokens": None}, {"input_tokens": "7", "cache_creation": 1, "server_tool_use": []}]
)
def test_figures_that_are_invalid_cost_nothing(usage: dict[str, object]) -> None:
    assert usage_cost_usd("claude-opus-4-8", Usage.parse(usage)) == 0.0


def test_a_ledger_adds_up_for_each_model() -> None:
    ledger = CostLedger()
    assert (ledger.total_usd, ledger.model_usage()) == (0, {})
    assert ledger.add(resolve_model(None, {}), USAGE) == 0.001
    ledger.add(resolve_model(None, {}), {**USAGE, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 7})
    ledger.add(resolve_model("haiku", {}), {**USAGE, "server_tool_use": {"web_search_requests": 2}})
    usage = ledger.model_usage()
    assert list(usage) == ["claude-opus-4-8[1m]", "claude-haiku-4-5-20251001"]
    wide = usage["claude-opus-4-8[1m]"]
    assert wide.pop("costUSD") == pytest.approx(0.002 + 5 * 0.5e-6 + 7 * 6.25e-6)
    assert wide == {
        "inputTokens": 200,
        "outputTokens": 40,
        "cacheReadInputTokens": 5,
        "cacheCreationInputTokens": 7,
        "webSearchRequests": 0,
        "contextWindow": 1_000_000,
        "maxOutputTokens": 64_000,
    }
    assert usage["claude-haiku-4-5-20251001"]["webSearchRequests"] == 2
    assert ledger.total_usd == pytest.approx(sum(one["costUSD"] for one in ledger.model_usage().values()))
    assert ledger.total_usd == pytest.approx(0.00204625 + 0.0202)
