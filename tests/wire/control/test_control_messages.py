"""Control messages: what is built can be read, and what has the wrong type counts as not sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.control import control_messages
from bridle.wire.control.requests import (
    REQUEST_KINDS,
    AnyRequest,
    HookCall,
    Initialize,
    Interrupt,
    McpMessage,
    McpStatus,
    Permission,
    SetMaxThinkingTokens,
    SetModel,
    SetPermissionMode,
    read_request,
)
from bridle.wire.control.responses import (
    NO_REASON,
    Allow,
    Deny,
    HookAnswer,
    permission_decision,
    read_decision,
    read_hook_answer,
)
from bridle.wire.events.blocks import Image, Text
from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlCancel, ControlRequest, ControlResponse, User
from tests.wire.fixtures.claude_recordings import recorded
from tests.wire.fixtures.event_strategies import json_objects, json_values

EVERY_KIND: list[AnyRequest] = [
    Initialize(hooks={"Stop": [{"matcher": None, "hookCallbackIds": ["hook_0"]}]}, settings={"agents": {}}),
    Interrupt(),
    SetModel("claude-sonnet-5"),
    SetModel(None),
    SetPermissionMode("acceptEdits"),
    SetMaxThinkingTokens(4096),
    McpStatus(),
    Permission("Write", {"file_path": "a"}, "toolu_1", "Write", "a", ({"type": "setMode"},), "/a", "why", "agent"),
    HookCall("hook_0", {"hook_event_name": "Stop"}, "toolu_1"),
    McpMessage("calc", {"jsonrpc": "2.0", "id": 0}),
]


def requests_in(name: str) -> list[ControlRequest]:
    return [event for event in decode_stream([recorded(name)]) if isinstance(event, ControlRequest)]


def responses_in(name: str) -> dict[str, ControlResponse]:
    result = decode_stream([recorded(name)])
    return {event.request_id: event for event in result if isinstance(event, ControlResponse)}


@pytest.mark.parametrize("asked", EVERY_KIND, ids=lambda asked: type(asked).__name__)
def test_an_encoded_request_decodes_to_itself(asked: AnyRequest) -> None:
    (event,) = decode(encode(asked.to_request("r1")))
    assert isinstance(event, ControlRequest)
    assert event.request_id == "r1"
    assert read_request(event) == asked


def test_every_kind_of_request_is_tested_above() -> None:
    assert {type(asked) for asked in EVERY_KIND} == set(REQUEST_KINDS.values())


@given(st.sampled_from(sorted(REQUEST_KINDS)), json_objects)
def test_fields_of_a_wrong_type_in_a_request_are_ignored(subtype: str, fields: dict[str, Any]) -> None:
    asked = ControlRequest(request_id="r", request={**fields, "subtype": subtype})
    assert type(read_request(asked)) is REQUEST_KINDS[subtype]


def test_fields_of_a_wrong_type_get_their_defaults() -> None:
    wrong = {"subtype": "can_use_tool", "tool_name": 5, "input": [], "permission_suggestions": [1, {"type": "x"}]}
    assert read_request(ControlRequest(request=wrong)) == Permission(suggestions=({"type": "x"},))


def test_initialize_reads_the_prompt_and_the_servers_of_the_host() -> None:
    sent = {"systemPrompt": ["a", 5, "b"], "appendSystemPrompt": "c", "sdkMcpServers": ["calc"]}
    opened = Initialize(settings=sent)
    assert (opened.system_prompt, opened.append_system_prompt, opened.sdk_mcp_servers) == ("a\nb", "c", ("calc",))
    wrong = Initialize(settings={"systemPrompt": 5, "appendSystemPrompt": [], "sdkMcpServers": 7})
    assert (wrong.system_prompt, wrong.append_system_prompt, wrong.sdk_mcp_servers) == (None, None, ())


def test_a_recorded_permission_request_has_all_that_a_user_needs_to_decide() -> None:
    first = read_request(requests_in("18d-can-use-tool")[0])
    assert isinstance(first, Permission)
    assert (first.tool_name, first.input["command"], first.tool_use_id) == ("Bash", "touch zzz", "toolu_0001_0")
    assert first.blocked_path == "/workspace/demo/zzz"
    assert [suggestion["type"] for suggestion in first.suggestions] == ["addRules", "addDirectories", "setMode"]


def test_recorded_permission_requests_are_encoded_as_claude_code_encodes_them() -> None:
    for event in requests_in("18d-can-use-tool") + requests_in("18e-askuser-stdio"):
        assert encode(Permission.from_request(event).to_request(event.request_id)) == event.raw + b"\n"


def test_recorded_hook_calls_name_their_event_and_are_encoded_to_the_same_bytes() -> None:
    events = requests_in("18g-hook-callback")
    calls = [HookCall.from_request(event) for event in events]
    assert [(call.callback_id, call.event) for call in calls] == [("cb1", "PreToolUse"), ("cb2", "Stop")]
    for call, event in zip(calls, events, strict=True):
        assert encode(call.to_request(event.request_id)) == event.raw + b"\n"


def test_recorded_responses_are_built_the_same() -> None:
    recorded_answers = responses_in("18a-control-init")
    assert control_messages.success("r2") == recorded_answers["r2"]
    assert control_messages.success("r3", {"mode": "acceptEdits"}) == recorded_answers["r3"]
    assert control_messages.success("r6", {"mcpServers": []}) == recorded_answers["r6"]
    assert control_messages.unsupported(control_messages.request("r4", "bogus")) == recorded_answers["r4"]
    assert encode(control_messages.success("r2")) == recorded_answers["r2"].raw + b"\n"


def test_recorded_responses_have_their_payload_or_their_error() -> None:
    answers = responses_in("18a-control-init")
    assert control_messages.payload_of(answers["r3"]) == {"mode": "acceptEdits"}
    assert control_messages.payload_of(answers["r2"]) == {}
    assert control_messages.error_of(answers["r2"]) is None
    assert control_messages.error_of(answers["r4"]) == "Unsupported control request subtype: bogus"
    assert "commands" in control_messages.payload_of(answers["r1"])


def test_interrupts_in_recordings_are_answered_without_a_payload() -> None:
    for name in ("18b-interrupt-api", "18c-interrupt-bash"):
        (answer,) = responses_in(name).values()
        assert answer == control_messages.success(answer.request_id)


def test_a_response_that_is_neither_success_nor_error_is_an_error_with_a_message() -> None:
    assert (
        control_messages.error_of(ControlResponse(response={"error": 5}))
        == "the other side reported an error without a message"
    )


def test_an_unknown_subtype_is_read_as_none() -> None:
    assert read_request(control_messages.request("r", "rewind_files", user_message_id="u")) is None
    assert read_request(ControlRequest(request={"subtype": ["initialize"]})) is None


def test_a_request_can_be_cancelled() -> None:
    assert decode(encode(control_messages.cancel("r9"))) == [ControlCancel(request_id="r9")]


def test_an_mcp_server_answers_in_the_form_that_the_agent_expects() -> None:
    answer = control_messages.success("r", control_messages.mcp_payload({"jsonrpc": "2.0", "id": 0, "result": {}}))
    assert answer.response["response"] == {"mcp_response": {"jsonrpc": "2.0", "id": 0, "result": {}}}


def test_an_allow_always_has_the_input() -> None:
    assert Allow().payload({"a": 1}) == {"behavior": "allow", "updatedInput": {"a": 1}}
    changed = Allow({"a": 2}, ({"type": "setMode"},))
    assert changed.payload({"a": 1}) == {
        "behavior": "allow",
        "updatedInput": {"a": 2},
        "updatedPermissions": [{"type": "setMode"}],
    }
    assert read_decision(changed.payload({})) == changed


def test_a_deny_has_its_reason_and_interrupts_only_on_request() -> None:
    assert Deny("no").payload() == {"behavior": "deny", "message": "no"}
    assert Deny("no", interrupt=True).payload() == {"behavior": "deny", "message": "no", "interrupt": True}
    assert read_decision({"behavior": "deny", "message": "no", "interrupt": True}) == Deny("no", interrupt=True)


@pytest.mark.parametrize("payload", [{}, {"behavior": "Allow"}, {"behavior": True}, {"behavior": ["allow"]}])
def test_only_an_explicit_allow_allows(payload: dict[str, Any]) -> None:
    assert read_decision(payload) == Deny(NO_REASON)


@given(json_objects)
def test_any_payload_is_a_decision_and_a_hook_answer(payload: dict[str, Any]) -> None:
    assert isinstance(read_decision(payload), Allow | Deny)
    answer = read_hook_answer(payload)
    assert read_hook_answer(answer.payload()) == answer


@pytest.mark.parametrize(
    ("answer", "payload"),
    [
        (HookAnswer(), {}),
        (HookAnswer(continues=False, stop_reason="enough"), {"continue": False, "stopReason": "enough"}),
        (HookAnswer(blocks=True, reason="not yet"), {"decision": "block", "reason": "not yet"}),
        (HookAnswer(suppress_output=True, system_message="m"), {"suppressOutput": True, "systemMessage": "m"}),
        (
            permission_decision("PreToolUse", "deny", "no"),
            {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": "no",
                }
            },
        ),
    ],
)
def test_a_hook_answer_has_only_the_fields_that_differ_from_the_default(
    answer: HookAnswer, payload: dict[str, Any]
) -> None:
    assert answer.payload() == payload
    assert read_hook_answer(payload) == answer


def test_only_an_explicit_false_stops_and_only_block_blocks() -> None:
    assert read_hook_answer({"continue": 0, "decision": "approve"}) == HookAnswer()


def test_a_user_message_is_a_line_of_text_or_blocks() -> None:
    assert json.loads(control_messages.user_message("hi\nthere")) == {
        "type": "user",
        "message": {"role": "user", "content": "hi\nthere"},
        "parent_tool_use_id": None,
    }
    blocks = (Text(text="look"), Image())
    (event,) = decode(control_messages.user_message(blocks, session_id="s"))
    assert isinstance(event, User)
    assert event.message.blocks == blocks
    assert event.session_id == "s"


@given(json_values)
def test_any_value_of_a_payload_is_read_without_an_error(value: Any) -> None:
    answer = ControlResponse(response={"subtype": "success", "request_id": value, "response": value})
    assert isinstance(control_messages.payload_of(answer), dict)
