"""The cost of a conversation so far: `total_cost_usd` and `modelUsage` of a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.agent.model.api.models import Model
from bridle.ground.prices import cost_usd

# The price of one search by the endpoint's own tool, with every model: ten dollars per thousand.
SEARCH_USD = 0.01
# The price of an unknown model is that of this one, as in Claude Code: a cost limit should rather end a run too early
# than never.
STAND_IN = "claude-opus-4-8"

# The counts of a `usage` that fill the context window, in the order in which clients get them.
TOKEN_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class Usage(Struct, frozen=True):
    """The `usage` of one answer."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    """The part of `cache_write_tokens` that is cached for an hour."""
    searches: int = 0

    @classmethod
    def parse(cls, usage: Mapping[str, Any]) -> Usage:
        """Parse the `usage` of the API; anything that is not a positive integer counts as 0."""
        written = count_of(usage, "cache_creation_input_tokens")
        return cls(
            input_tokens=count_of(usage, "input_tokens"),
            output_tokens=count_of(usage, "output_tokens"),
            cache_read_tokens=count_of(usage, "cache_read_input_tokens"),
            cache_write_tokens=written,
            cache_write_1h_tokens=min(count_of(usage.get("cache_creation"), "ephemeral_1h_input_tokens"), written),
            searches=count_of(usage.get("server_tool_use"), "web_search_requests"),
        )


class _ModelTotal(Struct):
    """The usage and cost of one model."""

    model: Model
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    searches: int = 0
    usd: float = 0.0
    is_priced: bool = True
    """Whether the price of every answer is known."""


class CostLedger:
    """The usage and cost of every model that this process has used."""

    def __init__(self) -> None:
        self._totals: dict[str, _ModelTotal] = {}

    @property
    def total_usd(self) -> float:
        """The cost as far as prices are known."""
        return sum(total.usd for total in self._totals.values())

    @property
    def is_priced(self) -> bool:
        """Whether the price of every answer is known."""
        return all(total.is_priced for total in self._totals.values())

    def add(self, model: Model, usage: Mapping[str, Any]) -> float:
        """Add the usage of one answer and return its cost; an unknown cost is 0."""
        total = self._totals.setdefault(model.shown, _ModelTotal(model))
        counts = Usage.parse(usage)
        known_usd = usage_cost_usd(model.id, counts, has_stand_in=model.kind.has_stand_in_price)
        total.is_priced = total.is_priced and known_usd is not None
        usd = known_usd or 0.0
        total.input_tokens += counts.input_tokens
        total.output_tokens += counts.output_tokens
        total.cache_read_tokens += counts.cache_read_tokens
        total.cache_write_tokens += counts.cache_write_tokens
        total.searches += counts.searches
        total.usd += usd
        return usd

    def model_usage(self) -> dict[str, dict[str, Any]]:
        return {
            name: {
                "inputTokens": total.input_tokens,
                "outputTokens": total.output_tokens,
                "cacheReadInputTokens": total.cache_read_tokens,
                "cacheCreationInputTokens": total.cache_write_tokens,
                "webSearchRequests": total.searches,
                "costUSD": total.usd if total.is_priced else None,
                "contextWindow": total.model.context_window,
                "maxOutputTokens": total.model.max_output_tokens,
            }
            for name, total in self._totals.items()
        }


def usage_cost_usd(model_id: str, usage: Usage, *, has_stand_in: bool = True) -> float | None:
    """Return the cost of one answer; a model without a price costs what the stand-in costs, or an unknown amount."""
    usd = _price(model_id, usage)
    if usd is None and not has_stand_in:
        return None
    if usd is None:
        usd = _price(STAND_IN, usage) or 0.0
    return usd + SEARCH_USD * usage.searches


def _price(model_id: str, usage: Usage) -> float | None:
    return cost_usd(
        model_id,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens - usage.cache_write_1h_tokens,
        cache_write_1h_tokens=usage.cache_write_1h_tokens,
        input_includes_cached=False,
    )


def count_of(usage: object, key: str) -> int:
    """Return a count of a `usage`; anything that is not a positive integer counts as 0."""
    value = usage.get(key) if isinstance(usage, Mapping) else None
    return value if type(value) is int and value > 0 else 0
