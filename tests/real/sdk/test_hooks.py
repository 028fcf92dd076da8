"""Hooks that a client registers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.real.fixtures.claude_on_stage import calls, says, user_texts
from tests.real.fixtures.sdk_session import Acts, hook_inputs, of_class, requested, results, texts, tool_results

pytestmark = pytest.mark.real


def decision(event: str, **fields: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def test_hooks_see_prompt_call_result_and_stop_in_their_order(acts: Acts) -> None:
    hooks: dict[str, list[Any]] = {"UserPromptSubmit": [], "PreToolUse": [], "PostToolUse": [], "Stop": []}
    with acts(calls("Bash", command="echo hi"), says("done")) as drive:
        messages = drive.client("go", hooks=hooks)
    assert [message["event"] for message in of_class(messages, "hook")] == list(hooks)
    assert hook_inputs(messages, "UserPromptSubmit")[0]["prompt"] == "go"
    (before,), (after,) = hook_inputs(messages, "PreToolUse"), hook_inputs(messages, "PostToolUse")
    assert (before["tool_name"], before["tool_input"]["command"]) == ("Bash", "echo hi")
    assert after["tool_response"]["stdout"] == "hi"
    assert hook_inputs(messages, "Stop")[0]["stop_hook_active"] is False


def test_a_hook_denies_a_call(acts: Acts) -> None:
    answer = decision("PreToolUse", permissionDecision="deny", permissionDecisionReason="not this")
    with acts(calls("Bash", command="echo hi"), says("then not")) as drive:
        messages = drive.client("go", hooks={"PreToolUse": [answer]})
        assert "not this" in drive.last_message()
        assert [denial["tool_name"] for denial in results(messages)[0]["permission_denials"]] == ["Bash"]


def test_a_hook_allows_a_call_with_another_input(acts: Acts) -> None:
    with acts(calls("Write", file_path="a.txt", content="x"), says("done")) as drive:
        other = {"file_path": str(drive.workspace / "b.txt"), "content": "y"}
        answer = decision("PreToolUse", permissionDecision="allow", updatedInput=other)
        drive.client("go", hooks={"PreToolUse": [answer]})
        assert (drive.workspace / "b.txt").read_text() == "y"
        assert not (drive.workspace / "a.txt").exists()


def test_a_hook_that_asks_leads_to_a_permission_request(acts: Acts) -> None:
    answer = decision("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?")
    with acts(calls("Bash", command="echo hi"), says("done")) as drive:
        messages = drive.client("go", hooks={"PreToolUse": [answer]}, permissions=[{"behavior": "allow"}])
        assert [request["name"] for request in requested(messages)] == ["Bash"]
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_a_stop_hook_sends_the_model_back(acts: Acts) -> None:
    with acts(says("one"), says("two")) as drive:
        messages = drive.client("go", hooks={"Stop": [{"decision": "block", "reason": "not yet"}]})
        assert (texts(messages), results(messages)[0]["result"]) == (["one", "two"], "two")
        assert "Stop hook feedback:\nnot yet" in user_texts(drive.bodies()[-1])
        assert [given["stop_hook_active"] for given in hook_inputs(messages, "Stop")] == [False, True]


def test_a_prompt_hook_adds_context(acts: Acts) -> None:
    answer = decision("UserPromptSubmit", additionalContext="it is Sunday")
    with acts(says("ok")) as drive:
        drive.client("go", hooks={"UserPromptSubmit": [answer]})
        assert "it is Sunday" in json.dumps(drive.bodies()[0]["messages"])


def test_a_prompt_hook_blocks_a_prompt(acts: Acts) -> None:
    with acts(says("unused")) as drive:
        messages = drive.client("go", hooks={"UserPromptSubmit": [{"decision": "block", "reason": "not now"}]})
        assert results(messages)[0]["is_error"] is False
        assert drive.bodies() == []


def test_a_matcher_chooses_the_calls_of_a_hook(acts: Acts) -> None:
    both = (calls("Bash", command="echo hi"), calls("Write", file_path="a.txt", content="x"))
    with acts(*both, says("done")) as drive:
        messages = drive.client("go", hooks={"PreToolUse:Write|Edit": []}, permission_mode="acceptEdits")
        seen = hook_inputs(messages, "PreToolUse:Write|Edit")
        assert [given["tool_name"] for given in seen] == ["Write"]


def test_a_result_hook_adds_context_for_the_model(acts: Acts) -> None:
    answer = decision("PostToolUse", additionalContext="the linter is content")
    with acts(calls("Bash", command="echo hi"), says("done")) as drive:
        drive.client("go", hooks={"PostToolUse": [answer]})
        assert "the linter is content" in json.dumps(drive.bodies()[-1]["messages"])


def test_a_hook_ends_the_turn(acts: Acts) -> None:
    with acts(calls("Bash", command="echo hi"), says("never")) as drive:
        messages = drive.client("go", hooks={"PostToolUse": [{"continue": False, "stopReason": "enough"}]})
        assert len(drive.bodies()) == 1
        assert len(results(messages)) == 1
        assert tool_results(messages)[0]["content"] == "hi"


def test_a_failed_call_has_its_own_hook(acts: Acts) -> None:
    with acts(calls("Bash", command="ls missing"), says("done")) as drive:
        messages = drive.client("go", hooks={"PostToolUse": [], "PostToolUseFailure": []})
        assert hook_inputs(messages, "PostToolUse") == []
        (failed,) = hook_inputs(messages, "PostToolUseFailure")
        assert "missing" in failed["error"]


def test_what_a_result_hook_blocks_is_told_to_the_model_and_not_printed(acts: Acts) -> None:
    with acts(calls("Bash", command="echo hi"), says("done")) as drive:
        messages = drive.client("go", hooks={"PostToolUse": [{"decision": "block", "reason": "run the linter"}]})
        assert "run the linter" in drive.last_message()
        assert results(messages)[0]["num_turns"] == 2
        assert "run the linter" not in json.dumps([message for message in messages if message not in results(messages)])
