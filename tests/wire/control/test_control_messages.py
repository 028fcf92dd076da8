"""Control messages: requests are read, and responses are built as Claude Code builds them."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.control import control_messages
from bridle.wire.control.requests import (
    CancelAsyncMessage,
    Initialize,
    RewindFiles,
    SeedReadState,
    SetMaxThinkingTokens,
    SetModel,
    SetPermissionMode,
    StopTask,
    read_initialize,
)
from bridle.wire.events.blocks import Image, Text
from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.events.decode_tolerant import convert
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlResponse, User
from tests.wire.fixtures.claude_recordings import recorded
from tests.wire.fixtures.event_strategies import json_objects

RECORDS = (SetModel, SetPermissionMode, SetMaxThinkingTokens, RewindFiles, SeedReadState, CancelAsyncMessage, StopTask)


def responses_in(name: str) -> dict[str, ControlResponse]:
    result = decode_stream([recorded(name)])
    return {event.request_id: event for event in result if isinstance(event, ControlResponse)}


@given(st.sampled_from(RECORDS), json_objects)
def test_fields_of_a_wrong_type_in_a_request_are_ignored(kind: type[msgspec.Struct], fields: dict[str, Any]) -> None:
    assert type(convert(fields, kind)) is kind
    assert type(read_initialize(fields)) is Initialize


def test_a_request_is_read_with_its_value() -> None:
    assert convert({"subtype": "set_model", "model": "claude-sonnet-5"}, SetModel) == SetModel("claude-sonnet-5")
    assert convert({"model": 5}, SetModel) == SetModel(5)
    assert convert({"mode": "acceptEdits"}, SetPermissionMode) == SetPermissionMode("acceptEdits")
    assert convert({"mode": ["plan"]}, SetPermissionMode) == SetPermissionMode("")
    assert convert({"max_thinking_tokens": 4096}, SetMaxThinkingTokens) == SetMaxThinkingTokens(4096)


def test_initialize_reads_what_the_host_brings() -> None:
    sent = {"systemPrompt": ["a", 5, "b"], "appendSystemPrompt": "c", "sdkMcpServers": ["calc"], "agents": {"x": {}}}
    assert read_initialize(sent) == Initialize("a\nb", "c", ("calc",), agents={"x": {}})
    assert read_initialize({"systemPrompt": "a", "sdkMcpServers": {"calc": {}}}) == Initialize("a", None, ("calc",))
    wrong = {"systemPrompt": 5, "appendSystemPrompt": [], "sdkMcpServers": 7, "agents": [], "jsonSchema": "x"}
    assert read_initialize(wrong) == Initialize()


def test_recorded_responses_are_built_the_same() -> None:
    recorded_answers = responses_in("18a-control-init")
    assert control_messages.success("r2") == recorded_answers["r2"]
    assert control_messages.success("r3", {"mode": "acceptEdits"}) == recorded_answers["r3"]
    assert control_messages.success("r6", {"mcpServers": []}) == recorded_answers["r6"]
    assert control_messages.unsupported("r4", "bogus") == recorded_answers["r4"]
    assert encode(control_messages.success("r2")) == recorded_answers["r2"].raw + b"\n"


def test_interrupts_in_recordings_are_answered_without_a_payload() -> None:
    for name in ("18b-interrupt-api", "18c-interrupt-bash"):
        (answer,) = responses_in(name).values()
        assert answer == control_messages.success(answer.request_id)


def test_a_user_message_is_a_line_of_blocks() -> None:
    blocks = (Text(text="look\nhere"), Image())
    line = control_messages.user_message(blocks)
    assert line.count(b"\n") == 1
    (event,) = decode(line)
    assert isinstance(event, User)
    assert event.message.blocks == blocks
