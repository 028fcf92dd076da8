"""Numbers that no agent means: they cost themselves and nothing else, wherever they stand."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from bridle.views.conversation_json import conversation_document as conversation
from bridle.views.terminal.conversation import PlainView
from bridle.views.terminal.outcome_summary import summarize_outcome
from bridle.views.terminal.page import DisplayOptions
from bridle.wire.events.decode import Decoder
from bridle.wire.mask import Mask
from bridle.wire.record.outcome import judge
from bridle.wire.record.recorder import record_events
from bridle.wire.record.report import report_document, report_json
from bridle.wire.transcript.transcript import Transcript

HUGE = "9" * 4300  # the longest integer that Python reads: a sum of two of them it cannot write
ABSURD = (HUGE, "-" + HUGE, "1e308", "-1e308", "1e400", "NaN", "Infinity", "-Infinity", f'"{HUGE}"')
ODD = ("-1", "0", "1.5", "true", "null", '""', '"7"', "[]", "{}", '"\\ud800"')

USAGE = (
    '{"input_tokens":@,"output_tokens":@,"cache_read_input_tokens":@,"cache_creation_input_tokens":@,'
    '"cached_input_tokens":@,"reasoning_output_tokens":@}'
)
LINES = {
    "result": '{"type":"result","subtype":"success","is_error":false,"result":"x","num_turns":@,"duration_ms":@,'
    '"duration_api_ms":@,"ttft_ms":@,"total_cost_usd":@,"api_error_status":@,"usage":' + USAGE + ","
    '"modelUsage":{"m":{"contextWindow":@,"costUSD":@}},"permission_denials":[{"tool_use_id":@}]}',
    "message": '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"x"}],"usage":' + USAGE + "}}",
    "rate limit": '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":@}}',
    "retry": '{"type":"system","subtype":"api_retry","attempt":@,"max_retries":@,"retry_delay_ms":@,"error_status":@}',
    "compaction": '{"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":@,"post_tokens":@}}',
    "hook": '{"type":"system","subtype":"hook_response","exit_code":@}',
    "sub-agent": '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Task","input":{}}]}}\n'
    '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},'
    '"tool_use_result":{"content":[],"totalToolUseCount":@,"totalTokens":@}}',
    "edit": '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Edit","input":{}}]}}\n'
    '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},'
    '"tool_use_result":{"structuredPatch":[{"oldStart":@,"oldLines":@,"newStart":@,"newLines":@,"lines":["+x"]}]}}',
    "piece": '{"type":"stream_event","event":{"type":"content_block_start","index":@,"content_block":{"type":"text"}}}',
}
INIT = '{"type":"system","subtype":"init","session_id":"s"}'


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("number", [*ABSURD, *ODD], ids=lambda number: number[:8])
def test_a_number_of_any_size_in_any_place_is_folded_and_shown(kind: str, number: str) -> None:
    line = LINES[kind].replace("@", number)
    read, shown = _carried_through("\n".join((INIT, line, INIT, line)))
    assert read["session_id"] == "s"
    assert len(json.dumps(read)) < 10 * len(line) + 4000
    assert "NaN" not in shown.replace(line, "")


@pytest.mark.parametrize("number", ABSURD, ids=lambda number: number[:8])
def test_an_implausible_number_counts_as_missing(number: str) -> None:
    read, shown = _carried_through("\n".join((INIT, LINES["result"].replace("@", number))))
    assert [read[name] for name in ("num_turns", "duration_ms", "duration_api_ms", "total_cost_usd")] == [None] * 4
    assert [read[name] for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")] == [0, 0, 0]
    assert " · 0 tokens in, 0 out" in shown


def test_an_implausible_reset_time_is_ignored() -> None:
    read, _ = _carried_through(LINES["rate limit"].replace("@", HUGE))
    assert (read["rate_limit_status"], read["resets_at"]) == ("allowed", None)


def _carried_through(stream: str) -> tuple[dict[str, Any], str]:
    """The document of a stream and its conversation as text, after everything else that is made of it."""
    decoder, mask = Decoder(), Mask()
    events = [*decoder.feed(stream.encode()), *decoder.end()]
    record = record_events(events)
    outcome = judge(record)
    summarize_outcome(record, outcome)
    transcript = Transcript(mask=mask)
    for second, event in enumerate(events):
        transcript.add(event, float(second))
    transcript.finish()
    json.dumps(conversation(transcript, mask), allow_nan=False)
    shown = io.StringIO()
    PlainView(transcript, mask, DisplayOptions(), shown).finish()
    return json.loads(report_json(report_document(record, outcome))), shown.getvalue()
