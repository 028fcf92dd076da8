"""How full the model's context is, what was used so far, and when the account's limit resets."""

from __future__ import annotations

from msgspec import Struct

from bridle.wire.record.record import Record

# The context window of a model whose name does not say otherwise; the result names the true one at the end.
USUAL_WINDOW = 200_000
LARGE_WINDOW = 1_000_000
_LARGE_SUFFIX = "[1m]"


class Gauge(Struct, frozen=True, kw_only=True):
    """The figures that a view shows beside a conversation."""

    context_tokens: int = 0
    """The tokens in the model's context at its latest main-thread message."""
    context_window: int = USUAL_WINDOW
    is_window_known: bool = False
    """Whether the agent named the window; else it is inferred from the model's name."""
    input_tokens: int = 0
    """All that the models read, from the cache too."""
    output_tokens: int = 0
    cost_usd: float | None = None
    """None where it is not known, or not yet."""
    limit_status: str | None = None
    """The state of the account's limit, as the agent names it."""
    limit_kind: str | None = None
    resets_at: int | None = None
    """When the account's limit resets, in seconds since the epoch."""

    @property
    def context_percent(self) -> float:
        """How much of the context window is used, in percent."""
        return 100.0 * self.context_tokens / self.context_window


def gauge_of(record: Record) -> Gauge:
    """Return the figures of a record."""
    usual = LARGE_WINDOW if (record.model or "").endswith(_LARGE_SUFFIX) else USUAL_WINDOW
    tokens = record.tokens
    return Gauge(
        context_tokens=record.context_tokens,
        context_window=record.context_window or usual,
        is_window_known=record.context_window is not None,
        input_tokens=tokens.all_input,
        output_tokens=tokens.output_tokens,
        cost_usd=record.reported_cost_usd,
        limit_status=record.rate_limit_status,
        limit_kind=record.rate_limit_type,
        resets_at=record.resets_at,
    )
