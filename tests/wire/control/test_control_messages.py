"""Control messages: requests are read, and responses are built as Claude Code builds them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.control import control_messages
from bridle.wire.control.requests import (
    AnyRequest,
    Initialize,
    Interrupt,
    McpStatus,
    SetMaxThinkingTokens,
    SetModel,
    SetPermissionMode,
    read_request,
)
from bridle.wire.events.blocks import Image, Text
from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlRequest, ControlResponse, User
from tests.wire.fixtures.claude_recordings import recorded
from tests.wire.fixtures.event_strategies import json_objects

KINDS: dict[str, type[AnyRequest]] = {
    "initialize": Initialize,
    "interrupt": Interrupt,
    "set_model": SetModel,
    "set_permission_mode": SetPermissionMode,
    "set_max_thinking_tokens": SetMaxThinkingTokens,
    "mcp_status": McpStatus,
}


def read(subtype: object, **fields: object) -> AnyRequest | None:
    return read_request(ControlRequest(request_id="r", request={"subtype": subtype, **fields}))


def responses_in(name: str) -> dict[str, ControlResponse]:
    result = decode_stream([recorded(name)])
    return {event.request_id: event for event in result if isinstance(event, ControlResponse)}


@given(st.sampled_from(sorted(KINDS)), json_objects)
def test_fields_of_a_wrong_type_in_a_request_are_ignored(subtype: str, fields: dict[str, Any]) -> None:
    asked = ControlRequest(request_id="r", request={**fields, "subtype": subtype})
    assert type(read_request(asked)) is KINDS[subtype]


def test_a_request_is_read_with_its_value() -> None:
    assert read("set_model", model="claude-sonnet-5") == SetModel("claude-sonnet-5")
    assert read("set_model", model=5) == SetModel(5)
    assert read("set_permission_mode", mode="acceptEdits") == SetPermissionMode("acceptEdits")
    assert read("set_permission_mode", mode=["plan"]) == SetPermissionMode("")
    assert read("set_max_thinking_tokens", max_thinking_tokens=4096) == SetMaxThinkingTokens(4096)


def test_initialize_reads_the_prompt_and_the_servers_of_the_host() -> None:
    sent = {"systemPrompt": ["a", 5, "b"], "appendSystemPrompt": "c", "sdkMcpServers": ["calc"]}
    assert read("initialize", **sent) == Initialize("a\nb", "c", ("calc",))
    assert read("initialize", systemPrompt="a", sdkMcpServers={"calc": {}}) == Initialize("a", None, ("calc",))
    assert read("initialize", systemPrompt=5, appendSystemPrompt=[], sdkMcpServers=7) == Initialize()


@pytest.mark.parametrize("subtype", ["rewind_files", "can_use_tool", ["initialize"], None])
def test_an_unknown_subtype_is_read_as_none(subtype: object) -> None:
    assert read(subtype, user_message_id="u") is None


def test_recorded_responses_are_built_the_same() -> None:
    recorded_answers = responses_in("18a-control-init")
    assert control_messages.success("r2") == recorded_answers["r2"]
    assert control_messages.success("r3", {"mode": "acceptEdits"}) == recorded_answers["r3"]
    assert control_messages.success("r6", {"mcpServers": []}) == recorded_answers["r6"]
    bogus = ControlRequest(request_id="r4", request={"subtype": "bogus"})
    assert control_messages.unsupported(bogus) == recorded_answers["r4"]
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
