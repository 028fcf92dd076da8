"""Events of a run as updates of an editor: text, thoughts, calls, changes, plans, modes."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.agent.acp.json_rpc import AUTHENTICATION_REQUIRED, INTERNAL_ERROR, RpcError
from bridle.agent.acp.permission_choice import decision, permission_request
from bridle.agent.acp.prompt_blocks import mcp_servers, prompt_blocks
from bridle.agent.acp.tool_cards import call_card, result_card
from bridle.agent.acp.turn_end import prompt_response
from bridle.agent.acp.updates import Updates


def frame(**fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": fields, "parent_tool_use_id": None}


def delta(kind: str, text: str) -> dict[str, Any]:
    return frame(type="content_block_delta", index=0, delta={"type": f"{kind}_delta", kind: text})


def answer(*blocks: dict[str, Any], message_id: str = "m1", **fields: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": message_id, "content": list(blocks)}, **fields}


TEXT = {"type": "text", "text": "Hello."}
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls  -l"}}


def kinds(updates: list[dict[str, Any]]) -> list[str]:
    return [update["sessionUpdate"] for update in updates]


def test_text_is_shown_once_whether_it_was_streamed_or_not() -> None:
    updates = Updates("/w")
    updates.of_event(frame(type="message_start", message={"id": "m1"}))
    assert updates.of_event(delta("text", "Hello.")) == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello."}}
    ]
    assert kinds(updates.of_event(delta("thinking", "Hm."))) == ["agent_thought_chunk"]
    assert updates.of_event(answer(TEXT)) == []
    assert kinds(updates.of_event(answer(CALL))) == ["tool_call"]
    assert kinds(updates.of_event(answer(TEXT, message_id="m2"))) == ["agent_message_chunk"]


def test_what_a_sub_agent_says_and_an_error_that_the_response_has_are_not_shown() -> None:
    updates = Updates("/w")
    assert updates.of_event(answer(TEXT, parent_tool_use_id="t9")) == []
    assert kinds(updates.of_event(answer(CALL, parent_tool_use_id="t9"))) == ["tool_call"]
    assert updates.of_event(answer(TEXT, error="rate_limit")) == []
    assert updates.of_event({"type": "user", "message": {"content": [TEXT]}, "isReplay": True}) == []


def test_a_task_list_is_the_plan() -> None:
    todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "odd"}]
    call = {"type": "tool_use", "id": "t2", "name": "TodoWrite", "input": {"todos": todos}}
    updates = Updates("/w")
    plan = updates.of_event(answer(call))
    assert plan == [
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "a", "priority": "medium", "status": "completed"},
                {"content": "b", "priority": "medium", "status": "pending"},
            ],
        }
    ]
    result = {"type": "tool_result", "tool_use_id": "t2", "content": "ok"}
    assert updates.of_event({"type": "user", "message": {"content": [result]}}) == []


def test_a_mode_is_shown() -> None:
    event = {"type": "system", "subtype": "status", "permissionMode": "plan"}
    assert Updates("/w").of_event(event) == [{"sessionUpdate": "current_mode_update", "currentModeId": "plan"}]


def test_a_conversation_is_shown_again_without_what_the_user_did_not_type() -> None:
    updates = Updates("/w")
    typed = [{"type": "text", "text": "<system-reminder>\nx"}, {"type": "text", "text": "hello"}]
    result = {"type": "tool_result", "tool_use_id": "t1", "content": "a", "is_error": True}
    assert [update["content"]["text"] for update in updates.of_history({"role": "user", "content": typed})] == ["hello"]
    assert kinds(updates.of_history({"role": "assistant", "content": [TEXT, CALL]})) == [
        "agent_message_chunk",
        "tool_call",
    ]
    assert updates.of_history({"role": "user", "content": [result]})[0]["status"] == "failed"
    assert updates.of_history({"role": "system", "content": "x"}) == []
    assert kinds(updates.of_history({"role": "user", "content": "plain"})) == ["user_message_chunk"]


@pytest.mark.parametrize(
    ("tool", "arguments", "title", "kind"),
    [
        ("Bash", {"command": "ls\n -l"}, "`ls -l`", "execute"),
        ("Read", {"file_path": "a.py"}, "Read a.py", "read"),
        ("Grep", {"pattern": "x"}, "Grep x", "search"),
        ("mcp__s__t", {"a": 1}, "mcp__s__t", "other"),
        ("Bash", {"command": "x" * 500}, "`" + "x" * 198 + "…", "execute"),
    ],
)
def test_a_call_has_a_title_and_a_kind(tool: str, arguments: dict[str, Any], title: str, kind: str) -> None:
    card = call_card("t1", tool, arguments, "/w")
    assert (card["title"], card["kind"], card["rawInput"]) == (title, kind, arguments)


def test_a_change_is_shown_before_and_after_it_was_made() -> None:
    edit = {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    card = call_card("t1", "Edit", edit, "/w")
    assert card["content"] == [{"type": "diff", "path": "/w/a.py", "oldText": "1", "newText": "2"}]
    assert card["locations"] == [{"path": "/w/a.py"}]
    detail = {"filePath": "a.py", "originalFile": "x1\n1\n", "oldString": "1", "newString": "2", "replaceAll": True}
    done = result_card("t1", {"content": "ok"}, detail, "/w")
    assert done["content"] == [{"type": "diff", "path": "/w/a.py", "oldText": "x1\n1\n", "newText": "x2\n2\n"}]
    failed = result_card("t1", {"content": "no", "is_error": True}, detail, "/w")
    assert (failed["status"], failed["content"][0]["content"]["text"]) == ("failed", "no")


def test_images_of_a_result_are_shown() -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "aGk=", "media_type": "image/png"}}
    shown = result_card("t1", {"content": [image, {"type": "text", "text": "x"}]}, None, "/w")["content"]
    assert [part["content"]["type"] for part in shown] == ["image", "text"]


def result(**fields: Any) -> dict[str, Any]:
    return {"subtype": "success", "is_error": False, "stop_reason": "end_turn", "usage": {"input_tokens": 3}, **fields}


@pytest.mark.parametrize(
    ("fields", "stop_reason"),
    [
        ({}, "end_turn"),
        ({"stop_reason": "max_tokens"}, "max_tokens"),
        ({"stop_reason": "refusal", "is_error": True}, "refusal"),
        ({"subtype": "error_max_turns", "is_error": True}, "max_turn_requests"),
        ({"subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_tools"}, "cancelled"),
    ],
)
def test_the_end_of_a_turn_has_its_reason(fields: dict[str, Any], stop_reason: str) -> None:
    response = prompt_response(result(**fields), None)
    assert (response["stopReason"], response["usage"]["totalTokens"]) == (stop_reason, 3)


@pytest.mark.parametrize(
    ("error", "code"), [("authentication_failed", AUTHENTICATION_REQUIRED), ("rate_limit", INTERNAL_ERROR)]
)
def test_a_failed_turn_is_an_error(error: str, code: int) -> None:
    with pytest.raises(RpcError, match="API Error: no") as raised:
        prompt_response(result(is_error=True, result="API Error: no"), error)
    assert raised.value.code == code


RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "ls"}], "behavior": "allow"}
ASKED = {"tool_name": "Bash", "tool_use_id": "t1", "input": {"command": "ls"}, "permission_suggestions": [RULE]}


def test_a_permission_has_three_choices_and_says_what_always_means() -> None:
    options = permission_request("s", ASKED, "/w")["options"]
    assert [option["kind"] for option in options] == ["allow_once", "allow_always", "reject_once"]
    assert options[1]["name"] == "Always allow in this session: Bash(ls)"
    without = permission_request("s", {**ASKED, "permission_suggestions": None}, "/w")["options"]
    assert [option["kind"] for option in without] == ["allow_once", "reject_once"]


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ({"outcome": "selected", "optionId": "allow"}, {"behavior": "allow"}),
        ({"outcome": "selected", "optionId": "allow_always"}, {"behavior": "allow", "updatedPermissions": [RULE]}),
        ({"outcome": "selected", "optionId": "reject"}, {"behavior": "deny"}),
        ({"outcome": "selected", "optionId": "odd"}, {"behavior": "deny"}),
        ({"outcome": "cancelled"}, {"behavior": "deny", "interrupt": True}),
        ("odd", {"behavior": "deny"}),
    ],
)
def test_a_choice_is_a_decision_and_anything_odd_denies(outcome: Any, expected: dict[str, Any]) -> None:
    decided = decision(ASKED, {"outcome": outcome})
    assert {key: decided[key] for key in ("behavior", "updatedPermissions", "interrupt") if key in decided} == expected


def test_a_prompt_has_text_images_files_and_their_content() -> None:
    assert prompt_blocks(
        [
            {"type": "text", "text": "see"},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "file:///w/a%20b.py", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///w/c.py", "text": "1"}},
            {"type": "resource_link", "uri": "https://example.com", "name": "e"},
            {"type": "audio", "data": "x"},
        ]
    ) == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "text", "text": "@/w/a b.py"},
        {"type": "text", "text": '<context ref="file:///w/c.py">\n1\n</context>'},
        {"type": "text", "text": "https://example.com"},
    ]
    for odd in (None, [], [3], [{"type": "audio"}]):
        with pytest.raises(RpcError, match="at least one block"):
            prompt_blocks(odd)


def test_mcp_servers_are_those_of_the_flag() -> None:
    environment = [{"name": "A", "value": "1"}, {"name": 3}]
    assert mcp_servers(
        [
            {"name": "one", "command": "/bin/one", "args": ["x"], "env": environment},
            {"type": "sse", "name": "two", "url": "http://x", "headers": [{"name": "H", "value": "v"}]},
            "odd",
        ]
    ) == {
        "one": {"type": "stdio", "command": "/bin/one", "args": ["x"], "env": {"A": "1"}},
        "two": {"type": "sse", "url": "http://x", "headers": {"H": "v"}},
    }
