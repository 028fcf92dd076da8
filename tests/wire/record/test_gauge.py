"""The figures beside a conversation."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.events.decode import decode
from bridle.wire.events.loose_json import to_raw
from bridle.wire.record.gauge import LARGE_WINDOW, USUAL_WINDOW, Gauge, gauge_of
from bridle.wire.record.recorder import Recorder
from tests.wire.fixtures.conversations import record_of


def gauge(*lines: dict[str, Any]) -> Gauge:
    recorder = Recorder()
    for line in lines:
        recorder.add_all(list(decode(bytes(to_raw(line)))))
    return gauge_of(recorder.record)


def message(parent: str | None = None, **usage: int) -> dict[str, Any]:
    body = {"id": f"m{usage}", "role": "assistant", "content": [{"type": "text", "text": "x"}], "usage": usage}
    return {"type": "assistant", "message": body, "parent_tool_use_id": parent}


def init(model: str) -> dict[str, Any]:
    return {"type": "system", "subtype": "init", "session_id": "s", "model": model}


def test_the_context_is_that_of_the_newest_message_of_the_main_agent() -> None:
    found = gauge(
        message(input_tokens=10, cache_read_input_tokens=500, output_tokens=3),
        message(input_tokens=20, cache_creation_input_tokens=80, cache_read_input_tokens=900, output_tokens=4),
        message("c", input_tokens=7, output_tokens=1),
    )
    assert found.context_tokens == 1000
    assert found.context_percent == 0.5
    assert (found.input_tokens, found.output_tokens) == (10 + 500 + 1000 + 7, 8)


@pytest.mark.parametrize(("model", "window"), [("m", USUAL_WINDOW), ("m[1m]", LARGE_WINDOW)])
def test_the_window_is_that_of_the_model_until_the_result_names_it(model: str, window: int) -> None:
    before = gauge(init(model))
    assert (before.context_window, before.is_window_known) == (window, False)
    usage = {model: {"inputTokens": 1, "contextWindow": 300_000}}
    after = gauge(init(model), {"type": "result", "subtype": "success", "result": "x", "modelUsage": usage})
    assert (after.context_window, after.is_window_known) == (300_000, True)


def test_the_next_reset_is_that_of_the_newest_rate_limit_event() -> None:
    def limit(status: str, resets_at: Any) -> dict[str, Any]:
        info = {"status": status, "rateLimitType": "five_hour", "resetsAt": resets_at}
        return {"type": "rate_limit_event", "rate_limit_info": info}

    found = gauge(limit("allowed", 1_800_000_000), limit("allowed_warning", 1_800_000_600_000))
    assert (found.limit_status, found.limit_kind, found.resets_at) == ("allowed_warning", "five_hour", 1_800_000_600)
    assert gauge(limit("rejected", "soon")).resets_at is None


def test_a_conversation_without_figures_has_none() -> None:
    assert gauge() == Gauge()


def test_a_recording_has_its_tokens_and_cost() -> None:
    found = gauge_of(record_of("02-tools-basic"))
    assert found.is_window_known
    assert found.context_window == LARGE_WINDOW
    assert found.cost_usd is not None
    assert found.context_tokens > 0
