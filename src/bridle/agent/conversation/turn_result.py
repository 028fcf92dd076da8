"""What a turn used and how it ended: counted while it goes on, told in its `result`.

Usage, turns and time are those of the turn; cost, the use of each model and the time at the endpoint add up over the
whole process.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.agent.model.api.cost import CostLedger

_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class Ending(msgspec.Struct, frozen=True):
    """How a turn ended."""

    subtype: str = "success"
    text: str = ""
    """The answer, or for a failed request what went wrong; error subtypes have none."""
    is_error: bool = False
    stop_reason: str | None = None
    terminal_reason: str | None = "completed"
    errors: tuple[str, ...] = ()
    api_error_status: int | None = None
    structured: Any = None
    has_structured: bool = False
    is_local: bool = False
    """Whether the program answered by itself, without the model."""
    origin: dict[str, str] | None = None


class Totals:
    """What the process used so far."""

    def __init__(self) -> None:
        self.api_ms = 0.0
        self.ledger = CostLedger()

    @property
    def cost_usd(self) -> float:
        """What everything has cost."""
        return self.ledger.total_usd


class Turn(msgspec.Struct):
    """What one turn used so far."""

    started: float
    """When it began, on the clock that never goes back."""
    usage: dict[str, int] = msgspec.field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    cache_1h: int = 0
    cache_5m: int = 0
    web_searches: int = 0
    web_fetches: int = 0
    service_tier: str = "standard"
    user_events: int = 0
    requests: int = 0
    """How often the model was asked: what `--max-turns` counts."""
    denials: list[dict[str, Any]] = msgspec.field(default_factory=list)
    stop_reason: str | None = None
    first_request: float | None = None
    first_byte: float | None = None
    first_block: float | None = None

    def add(self, usage: dict[str, Any]) -> None:
        """Count one answer of the model."""
        for name in _COUNTS:
            self.usage[name] += number(usage, name)
        kept = usage.get("cache_creation")
        if isinstance(kept, dict):
            self.cache_1h += number(kept, "ephemeral_1h_input_tokens")
            self.cache_5m += number(kept, "ephemeral_5m_input_tokens")
        server = usage.get("server_tool_use")
        if isinstance(server, dict):
            self.web_searches += number(server, "web_search_requests")
            self.web_fetches += number(server, "web_fetch_requests")
        tier = usage.get("service_tier")
        self.service_tier = tier if isinstance(tier, str) else self.service_tier

    def shown_usage(self) -> dict[str, Any]:
        """The `usage` of a result."""
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


def result(ending: Ending, turn: Turn, totals: Totals, *, now: float, session_id: str, uuid: str) -> dict[str, Any]:
    """The last event of a turn."""
    duration_ms, api_ms = round((now - turn.started) * 1000), round(totals.api_ms)
    turns = 0 if ending.is_local else 1 + turn.user_events
    is_success = ending.subtype == "success"
    head: dict[str, Any] = {"type": "result", "subtype": ending.subtype}
    if is_success:
        head["is_error"] = ending.is_error
        if not ending.is_local:
            head["api_error_status"] = ending.api_error_status
        head |= {"duration_ms": duration_ms, "duration_api_ms": api_ms}
        if not ending.is_error:
            head |= _first_times(turn)
        head |= {"num_turns": turns, "result": ending.text}
    else:
        head |= {"duration_ms": duration_ms, "duration_api_ms": api_ms, "is_error": True, "num_turns": turns}
    head |= {
        "stop_reason": ending.stop_reason,
        "session_id": session_id,
        "total_cost_usd": tidy(totals.cost_usd),
        "usage": turn.shown_usage(),
        "modelUsage": totals.ledger.model_usage(),
        "permission_denials": turn.denials,
    }
    if ending.has_structured:
        head["structured_output"] = ending.structured
    if ending.terminal_reason is not None:
        head["terminal_reason"] = ending.terminal_reason
    if not (ending.is_local and ending.is_error):
        head["fast_mode_state"] = "off"
    if ending.origin is not None:
        head["origin"] = ending.origin
    head["uuid"] = uuid
    if not is_success:
        head["errors"] = list(ending.errors)
    return head


def _first_times(turn: Turn) -> dict[str, int]:
    """When the first words came, the first byte, and when the first request went out, as far as they did."""
    times = {
        "ttft_ms": turn.first_block,
        "ttft_stream_ms": turn.first_byte,
        "time_to_request_ms": turn.first_request,
    }
    return {name: round((at - turn.started) * 1000) for name, at in times.items() if at is not None}


def number(fields: dict[str, Any], name: str) -> int:
    """A count that an endpoint sent; what is not a number counts as nothing."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def tidy(amount: float) -> float | int:
    """An amount as programs have seen it: a plain 0 where there was none."""
    return amount or 0
