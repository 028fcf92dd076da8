"""What a conversation has cost so far: `total_cost_usd` and `modelUsage` of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.agent.model.api.models import Model
from bridle.ground.prices import cost_usd

# What one search by the endpoint's own tool costs with every model: ten dollars for a thousand.
SEARCH_USD = 0.01
# A model that no price list knows is counted as this one, as measured: a limit of dollars should end a run too early
# rather than never.
STAND_IN = "claude-opus-4-8"


class _Use(Struct):
    """The figures of one model."""

    model: Model
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    searches: int = 0
    usd: float = 0.0


class CostLedger:
    """The figures of every model that was asked, added up over a process."""

    def __init__(self) -> None:
        self._uses: dict[str, _Use] = {}

    @property
    def total_usd(self) -> float:
        """What everything has cost."""
        return sum(use.usd for use in self._uses.values())

    def add(self, model: Model, usage: Mapping[str, Any]) -> float:
        """Count one answer; tell what it cost."""
        use = self._uses.setdefault(model.shown, _Use(model))
        usd = answer_cost_usd(model.id, usage)
        use.input_tokens += _count(usage, "input_tokens")
        use.output_tokens += _count(usage, "output_tokens")
        use.cache_read_tokens += _count(usage, "cache_read_input_tokens")
        use.cache_write_tokens += _count(usage, "cache_creation_input_tokens")
        use.searches += _searches(usage)
        use.usd += usd
        return usd

    def model_usage(self) -> dict[str, dict[str, Any]]:
        """The `modelUsage` of a result."""
        return {
            shown: {
                "inputTokens": use.input_tokens,
                "outputTokens": use.output_tokens,
                "cacheReadInputTokens": use.cache_read_tokens,
                "cacheCreationInputTokens": use.cache_write_tokens,
                "webSearchRequests": use.searches,
                "costUSD": use.usd,
                "contextWindow": use.model.context_window,
                "maxOutputTokens": use.model.max_output_tokens,
            }
            for shown, use in self._uses.items()
        }


def answer_cost_usd(model_id: str, usage: Mapping[str, Any]) -> float:
    """What one answer cost, from the usage that came with it."""
    usd = _priced(model_id, usage)
    if usd is None:
        usd = _priced(STAND_IN, usage) or 0.0
    return usd + SEARCH_USD * _searches(usage)


def _priced(model_id: str, usage: Mapping[str, Any]) -> float | None:
    written = _count(usage, "cache_creation_input_tokens")
    parts = usage.get("cache_creation")
    for_an_hour = min(_count(parts, "ephemeral_1h_input_tokens") if isinstance(parts, Mapping) else 0, written)
    return cost_usd(
        model_id,
        input_tokens=_count(usage, "input_tokens"),
        output_tokens=_count(usage, "output_tokens"),
        cache_read_tokens=_count(usage, "cache_read_input_tokens"),
        cache_write_tokens=written - for_an_hour,
        cache_write_1h_tokens=for_an_hour,
        input_includes_cached=False,
    )


def _searches(usage: Mapping[str, Any]) -> int:
    tools = usage.get("server_tool_use")
    return _count(tools, "web_search_requests") if isinstance(tools, Mapping) else 0


def _count(usage: Mapping[str, Any], key: str) -> int:
    """A number of tokens; whatever else an endpoint sends there counts as none."""
    value = usage.get(key)
    return value if isinstance(value, int) and value > 0 else 0
