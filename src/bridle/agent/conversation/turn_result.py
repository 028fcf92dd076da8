"""The counts of a turn and its result event.

Usage, turns and durations belong to the turn; cost, usage per model and API time add up over the whole process.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from bridle.agent.model.api.cost import TOKEN_COUNTS, CostLedger, count_of
from bridle.agent.model.api.question import Usage
from bridle.agent.stdio.output_events import Denial, ErrorResult, Result, SuccessResult


class Ending(msgspec.Struct, frozen=True):
    """How a turn ended."""

    subtype: str = "success"
    text: str = ""
    """The answer, or the error of a failed request; other errors have none."""
    is_error: bool = False
    stop_reason: str | None = None
    terminal_reason: str | None = "completed"
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None
    structured: Any = UNSET
    is_local: bool = False
    """Whether the program answered without the model."""
    turns: int | None = None
    """The number of turns that the result reports, if it is not counted."""
    origin: dict[str, str] | None = None
    deferred: dict[str, Any] | UnsetType = UNSET
    """The call that a hook deferred."""


class Totals:
    """Cost and API time of the process so far."""

    def __init__(self) -> None:
        self.api_ms = 0.0
        self.ledger = CostLedger()
        self._denials: list[Denial] = []

    @property
    def cost_usd(self) -> float:
        return self.ledger.total_usd

    def add_denial(self, denial: Denial) -> None:
        """Add a call of a sub-agent that was denied; the next result lists it."""
        self._denials.append(denial)

    def take_denials(self) -> list[Denial]:
        """Return the denied calls of sub-agents, once."""
        denials, self._denials = self._denials, []
        return denials


class TurnCounts(msgspec.Struct):
    """The usage of one turn so far."""

    started: float
    """The start of the turn on the monotonic clock, as all times here."""
    usage: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(TOKEN_COUNTS, 0))
    cache_1h: int = 0
    cache_5m: int = 0
    web_searches: int = 0
    web_fetches: int = 0
    service_tier: str = "standard"
    user_events: int = 0
    requests: int = 0
    """How many requests were sent; `--max-turns` limits them."""
    denials: list[Denial] = msgspec.field(default_factory=list)
    stop_reason: str | None = None
    first_request: float | None = None
    first_byte: float | None = None
    first_block: float | None = None

    def add(self, usage: Usage) -> None:
        for name in TOKEN_COUNTS:
            self.usage[name] += count_of(usage, name)
        cached, server = usage.get("cache_creation"), usage.get("server_tool_use")
        self.cache_1h += count_of(cached, "ephemeral_1h_input_tokens")
        self.cache_5m += count_of(cached, "ephemeral_5m_input_tokens")
        self.web_searches += count_of(server, "web_search_requests")
        self.web_fetches += count_of(server, "web_fetch_requests")
        tier = usage.get("service_tier")
        self.service_tier = tier if isinstance(tier, str) else self.service_tier

    def result_usage(self) -> Usage:
        return {
            **self.usage,
            "server_tool_use": {
                "web_search_requests": self.web_searches,
                "web_fetch_requests": self.web_fetches,
            },
            "service_tier": self.service_tier,
            "cache_creation": {
                "ephemeral_1h_input_tokens": self.cache_1h,
                "ephemeral_5m_input_tokens": self.cache_5m,
            },
            "inference_geo": "",
            "iterations": [],
            "speed": "standard",
        }

    def ms_until(self, moment: float | None) -> int | UnsetType:
        """Return the milliseconds from the start to a moment, if it has come."""
        return UNSET if moment is None else round((moment - self.started) * 1000)


def result(ending: Ending, turn: TurnCounts, totals: Totals, *, now: float) -> Result:
    """Return the last event of a turn."""
    event: Result
    duration_ms, api_ms = round((now - turn.started) * 1000), round(totals.api_ms)
    counted = 0 if ending.is_local else 1 + turn.user_events
    turns = counted if ending.turns is None else ending.turns
    # Claude Code prints 0, not 0.0; a cost that is not known is null.
    cost = (totals.cost_usd or 0) if totals.ledger.is_priced else None
    if ending.subtype == "success":
        event = SuccessResult(
            is_error=ending.is_error,
            duration_ms=duration_ms,
            duration_api_ms=api_ms,
            num_turns=turns,
            result=ending.text,
            stop_reason=ending.stop_reason,
            total_cost_usd=cost,
            usage=turn.result_usage(),
            model_usage=totals.ledger.model_usage(),
            permission_denials=turn.denials,
        )
        event.deferred_tool_use = ending.deferred
        if not ending.is_local and ending.deferred is UNSET:
            event.api_error_status = ending.api_error_status
        if not ending.is_error and ending.deferred is UNSET:
            event.ttft_ms = turn.ms_until(turn.first_block)
            event.ttft_stream_ms = turn.ms_until(turn.first_byte)
            event.time_to_request_ms = turn.ms_until(turn.first_request)
    else:
        event = ErrorResult(
            subtype=ending.subtype,
            duration_ms=duration_ms,
            duration_api_ms=api_ms,
            num_turns=turns,
            stop_reason=ending.stop_reason,
            total_cost_usd=cost,
            usage=turn.result_usage(),
            model_usage=totals.ledger.model_usage(),
            permission_denials=turn.denials,
            errors=list(ending.errors),
        )
    event.structured_output = ending.structured
    if ending.terminal_reason is not None:
        event.terminal_reason = ending.terminal_reason
    if not (ending.is_local and ending.is_error):
        event.fast_mode_state = "off"
    if ending.origin is not None:
        event.origin = ending.origin
    return event
