"""What must come out of each recording of another agent, and what holds for all of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import UsageError
from bridle.wire.dialects.dialect_table import AGENTS, decoder_for
from bridle.wire.events.decode import Decoder, decode
from bridle.wire.events.encode import encode
from bridle.wire.events.events import Assistant, Skipped, StreamEvent, Unknown
from bridle.wire.record.error_category import Category
from tests.sizes import SIZES
from tests.wire.fixtures.dialect_recordings import DIALECTS, NAMES, agent_of, documented, read, recorded
from tests.wire.fixtures.event_strategies import json_values
from tests.wire.fixtures.stream_lines import encode_lines

NOTHING_WRONG: dict[str, Any] = {"error": None, "error_category": None, "run_error": False, "warnings": []}

EXPECTED: dict[str, dict[str, Any]] = {
    "amp/failed": {"error": "401 the access token is not valid", "error_category": "auth", "session_id": "T-f9941a0c"},
    "amp/tools": {
        **NOTHING_WRONG,
        "output": "One file: a.py",
        "final_text": "One file: a.py",
        "tools": ["Bash", "oracle"],
        "tool_uses": 1,
        "tool_results": 1,
        "num_turns": 2,
        "total_cost_usd": None,
        "input_tokens": 0,
        "stop_reason": "end_turn",
    },
    "codex/dropped": {
        "error": None,
        "output": "Done.",
        "warnings": ["dropped-events: in-process event stream lagged; dropped 7 events"],
    },
    "codex/failed": {
        "error": "exceeded retry limit, last status: 429 Too Many Requests",
        "error_category": "rate_limit",
        "api_retries": 1,
        "results": 1,
        "succeeded": False,
        "warnings": [],
    },
    "codex/reconnect": {**NOTHING_WRONG, "output": "Hello.", "api_retries": 2, "succeeded_cleanly": True},
    "codex/tools": {
        "error": None,
        "session_id": "0199a213-81c0-7800-8aa1-bbab2a035a53",
        "output": "The tests pass now.",
        "final_text": "The tests pass now.",
        "degraded": False,
        "tool_uses": 5,
        "tool_results": 5,
        "tool_errors": 1,
        "input_tokens": 24763,
        "cached_input_tokens": 24448,
        "output_tokens": 122,
        "reasoning_output_tokens": 64,
        "total_cost_usd": None,
        "unknown_events": 0,
        "parse_errors": 0,
        "warnings": ["Model metadata for `gpt-test` not found; defaults are used."],
    },
    "codex/two-turns": {
        **NOTHING_WRONG,
        "output": "First.\nSecond.",
        "final_text": "Second.",
        "results": 2,
        "input_tokens": 300,
        "cached_input_tokens": 40,
        "cache_creation_input_tokens": 3,
        "output_tokens": 60,
        "reasoning_output_tokens": 11,
    },
    "cursor/parallel": {
        "error": None,
        "output": "I'll look.\nDone.",
        "final_text": "I'll look.Done.",
        "api_key_source": "login",
        "permission_mode": "default",
        "model": "Claude 4 Sonnet",
        "tool_uses": 3,
        "tool_results": 3,
        "tool_errors": 1,
        "permission_denials": [
            {
                "tool_name": "Write",
                "tool_use_id": "call_3",
                "tool_input": {"path": "out.txt", "fileText": "x"},
            }
        ],
        "run_error": True,
        "error_category": "permission",
        "num_turns": None,
        "input_tokens": 0,
        "unknown_events": 0,
    },
    "cursor/partial": {
        **NOTHING_WRONG,
        "output": "I'll look.\nNot there.",
        "final_text": "I'll look.Not there.",
        "tool_errors": 1,
        "input_tokens": 10,
        "output_tokens": 4,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
    },
    "cursor/unmarked": {**NOTHING_WRONG, "output": "Hello", "final_text": "Hello", "session_id": "c6b62c6f"},
    "gemini/failed": {"error": "The login has expired", "error_category": "auth", "output": "", "results": 1},
    "gemini/loop-detected": {
        "error": None,
        "run_error": False,
        "output": "Again and again",
        "warnings": ["Loop detected, stopping execution"],
    },
    "gemini/tools": {
        "error": None,
        "session_id": "9f1c",
        "model": "gemini-2.5-pro",
        "output": "I will look.\nHello – wörld",
        "final_text": "Hello – wörld",
        "degraded": False,
        "tool_uses": 2,
        "tool_results": 2,
        "tool_errors": 1,
        "input_tokens": 1400,
        "cached_input_tokens": 900,
        "output_tokens": 100,
        "duration_ms": 4321,
        "parse_errors": 2,
    },
    "opencode/cut": {
        "results": 0,
        "output": "",
        "run_error": True,
        "tool_uses": 2,
        "tool_results": 2,
        "tool_errors": 1,
        "usage_estimate": {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_input_tokens": 300,
            "cache_creation_input_tokens": 40,
            "cached_input_tokens": 0,
            "reasoning_output_tokens": 5,
        },
    },
    "opencode/done": {
        "error": None,
        "output": "There is one file.\u2028It is a.py.",
        "permission_denials": [{"tool_name": "bash"}],
        "error_category": "permission",
        "results": 1,
    },
    "opencode/failed": {"error": "key refused", "error_category": "auth", "api_error_status": 401, "results": 1},
    "opencode/recovered": {"error": None, "run_error": False, "warnings": ["Overloaded"], "total_cost_usd": 0.2},
    "opencode/tools": {
        **NOTHING_WRONG,
        "session_id": "ses_1",
        "output": "There is one file.\u2028It is a.py.",
        "final_text": "There is one file.\u2028It is a.py.",
        "degraded": False,
        "tool_uses": 2,
        "tool_results": 2,
        "tool_errors": 1,
        "input_tokens": 110,
        "output_tokens": 27,
        "reasoning_output_tokens": 5,
        "cache_read_input_tokens": 700,
        "cache_creation_input_tokens": 40,
        "total_cost_usd": 0.3,
        "results": 1,
    },
}


def test_every_recording_has_facts_and_every_dialect_a_recording() -> None:
    assert sorted(EXPECTED) == NAMES
    assert {agent_of(name) for name in NAMES} == set(DIALECTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_has_these_facts(name: str) -> None:
    result = documented(read(agent_of(name), recorded(name)))
    assert {fact: result[fact] for fact in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_cut_at_every_offset_yields_the_same_events(name: str) -> None:
    agent, data = agent_of(name), recorded(name)
    whole = [(event, event.raw) for event in read(agent, data)]
    for cut in range(0, len(data), max(1, len(data) // SIZES.split_offsets_bytes)):
        assert [(event, event.raw) for event in read(agent, data[:cut], data[cut:])] == whole


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_recording_is_lost(name: str) -> None:
    kept = {event.raw for event in read(agent_of(name), recorded(name))}
    assert set(recorded(name).splitlines()) - kept == set()


@pytest.mark.parametrize("name", NAMES)
def test_events_of_another_agent_can_be_encoded_as_claude_code_would(name: str) -> None:
    for event in read(agent_of(name), recorded(name)):
        assert decode(encode(event)) == [event]


@pytest.mark.parametrize("name", NAMES)
def test_deltas_of_a_text_precede_the_whole_and_add_up_to_it(name: str) -> None:
    text = ""
    for event in read(agent_of(name), recorded(name)):
        if isinstance(event, StreamEvent):
            delta = event.data.get("delta", {})
            text += delta.get("text", "") + delta.get("thinking", "")
        elif isinstance(event, Assistant) and text:
            (block,) = event.message.blocks
            assert text in (getattr(block, "text", None), getattr(block, "thinking", None))
            text = ""
    assert text == ""


@pytest.mark.parametrize("agent", DIALECTS)
@given(data=st.binary(max_size=200), cut=st.integers(min_value=0, max_value=200))
def test_arbitrary_bytes_never_raise_and_cuts_change_nothing(agent: str, data: bytes, cut: int) -> None:
    assert read(agent, data[:cut], data[cut:]) == read(agent, data)


TOO_DEEP = 100_000  # for every Python: later ones take several thousand
TYPES = [
    *("thread.started", "turn.started", "turn.completed", "turn.failed", "error", "request_user_input"),
    *("item.started", "item.updated", "item.completed", "init", "message", "tool_use", "tool_result", "result"),
    *("step_start", "step_finish", "text", "reasoning", "done", "system", "assistant", "user", "tool_call", "thinking"),
]
ITEMS = ["agent_message", "reasoning", "command_execution", "file_change", "mcp_tool_call", "todo_list", "error", None]
NAMES_OF_FIELDS = [
    *("item", "part", "error", "usage", "stats", "message", "text", "subtype", "role", "content", "delta", "status"),
    *("tool_call", "call_id", "session_id", "sessionID", "thread_id", "rejected", "state", "tokens", "cost", "id"),
    *("tool_name", "tool_id", "parameters", "severity", "exit_code", "changes", "items", "questions", "timestamp_ms"),
]
loose_fields = st.dictionaries(st.sampled_from(NAMES_OF_FIELDS), json_values, max_size=5)
nested_fields = st.dictionaries(
    st.sampled_from(NAMES_OF_FIELDS),
    json_values | st.builds(lambda kind, rest: {**rest, "type": kind}, st.sampled_from(ITEMS), loose_fields),
    max_size=5,
)
wild_lines = st.builds(lambda kind, rest: {**rest, "type": kind}, st.sampled_from(TYPES), nested_fields)


@pytest.mark.parametrize("agent", DIALECTS)
@given(lines=st.lists(wild_lines, max_size=6))
def test_wrong_types_in_known_fields_never_raise_and_have_an_outcome(agent: str, lines: list[dict[str, Any]]) -> None:
    result = documented(read(agent, encode_lines(lines)))
    assert result["error_category"] is None or result["error_category"] in set(Category)
    assert isinstance(result["output"], str)


@pytest.mark.parametrize("agent", DIALECTS)
def test_two_objects_on_one_line_are_two_events(agent: str) -> None:
    glued = b'{"type":"novel","a":1}{"type":"novel","a":2} rest'
    assert [event.raw for event in read(agent, glued)] == [
        b'{"type":"novel","a":1}',
        b'{"type":"novel","a":2}',
        b"rest",
    ]


@pytest.mark.parametrize("agent", DIALECTS)
def test_an_object_between_spaces_that_are_not_json_is_decoded(agent: str) -> None:
    line = '\u00a0{"type":"novel"}\u2003'.encode()
    assert [(type(event), event.raw) for event in read(agent, line)] == [(Unknown, line)]


@pytest.mark.parametrize("agent", DIALECTS)
def test_unknown_types_are_counted_and_other_json_is_ignored(agent: str) -> None:
    result = documented(read(agent, b'{"type":"novel"}\n{"no":"type"}\n[1]\n"words"\nnot json\n'))
    assert (result["unknown_events"], result["parse_errors"]) == (2, 1)


@pytest.mark.parametrize("agent", DIALECTS)
def test_a_line_over_the_limit_is_counted_and_skipped(agent: str) -> None:
    decoder = decoder_for(agent, limit_bytes=20)
    assert decoder.feed(b"x" * 30 + b"\n") + decoder.end() == [Skipped(size_bytes=30)]


@pytest.mark.parametrize("agent", DIALECTS)
def test_a_line_nested_too_deep_is_a_parse_error(agent: str) -> None:
    deep = b'{"type":"error","error":' + b'{"a":' * TOO_DEEP + b"1" + b"}" * (TOO_DEEP + 1)
    assert documented(read(agent, deep))["parse_errors"] == 1


@pytest.mark.parametrize("agent", DIALECTS)
def test_no_depth_of_nesting_raises(agent: str) -> None:
    tool = {"codex": "item.completed", "cursor": "tool_call"}.get(agent, "tool_use")
    for depth in range(800, 1001):  # about where reading ends, writing the same again ends a little earlier
        deep = '{"a":' * depth + "1" + "}" * depth
        call = f'"tool_call":{{"xToolCall":{{"args":{deep}}}}},"part":{{"tool":"t","state":{{"input":{deep}}}}}'
        item = f'"item":{{"type":"mcp_tool_call","arguments":{deep}}},"tool_name":"t","parameters":{deep}'
        result = read(agent, f'{{"type":"{tool}","subtype":"started","call_id":"c",{call},{item}}}'.encode())
        assert result


@pytest.mark.parametrize("name", NAMES)
def test_a_second_end_adds_nothing(name: str) -> None:
    decoder = decoder_for(agent_of(name))
    decoder.feed(recorded(name))
    decoder.end()
    assert decoder.end() == []


def test_a_second_end_adds_nothing_after_one_that_built_the_result() -> None:
    for agent, line in (("codex", b'{"type":"error","message":"x"}'), ("opencode", b'{"type":"error"}')):
        decoder = decoder_for(agent)
        decoder.feed(line + b"\n")
        assert len(decoder.end()) > 0
        assert decoder.end() == []


@pytest.mark.parametrize("agent", AGENTS)
def test_no_bytes_are_no_events(agent: str) -> None:
    assert read(agent) == []


def test_claude_code_has_its_own_decoder() -> None:
    assert type(decoder_for("claude")) is Decoder


def test_an_unknown_agent_is_refused_with_the_known_names() -> None:
    with pytest.raises(UsageError, match="'cohen'") as refusal:
        decoder_for("cohen")
    assert "claude, codex, gemini, opencode, cursor, amp" in str(refusal.value)
