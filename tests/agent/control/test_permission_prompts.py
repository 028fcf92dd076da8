"""Permission prompts over stdio, seen by a host: several at once, other inputs, hosts that fail or leave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.raw_host import calls, raw_host, says

ASKS = ("--permission-prompt-tool", "stdio")
WRITE = ("Write", {"file_path": "a.txt", "content": "x"})


def test_without_the_flag_no_host_is_asked(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(WRITE), says("no")) as host:
        host.prompt("write")
        assert host.result()["permission_denials"][0]["tool_name"] == "Write"
        assert not any(line["type"] == "control_request" for line in host.lines)


def test_a_request_names_tool_input_subject_reason_and_suggestions(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(WRITE), says("ok"), flags=ASKS) as host:
        host.prompt("write")
        asked = host.asked("can_use_tool")
        host.respond(asked["request_id"], {"behavior": "allow", "updatedInput": asked["input"]})
        assert host.result()["permission_denials"] == []
        named = {name: asked[name] for name in ("tool_name", "display_name", "description", "permission_suggestions")}
        assert named == {
            "tool_name": "Write",
            "display_name": "Write",
            "description": "a.txt",
            "permission_suggestions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}],
        }
        assert asked["input"] == {"file_path": str(host.workspace / "a.txt"), "content": "x"}
        assert "at: a.txt" in host.last_results()[0]  # the model reads the path that it sent
        assert asked["tool_use_id"] == host.bodies()[-1]["messages"][-1]["content"][0]["tool_use_id"]
        assert (host.workspace / "a.txt").read_text() == "x"


def test_several_requests_are_answered_in_any_order(tmp_path: Path) -> None:
    reads = [("Read", {"file_path": str(tmp_path / name)}) for name in ("one", "two")]
    for name in ("one", "two"):
        (tmp_path / name).write_text(f"text of {name}\n")
    with raw_host(tmp_path, calls(*reads), says("read"), flags=ASKS) as host:
        host.prompt("read both")
        first, second = host.asked("can_use_tool"), host.asked("can_use_tool")
        host.respond(second["request_id"], {"behavior": "deny", "message": "not this one"})
        host.respond(first["request_id"], {"behavior": "allow"})
        assert [each["tool_input"]["file_path"] for each in host.result()["permission_denials"]] == [
            second["input"]["file_path"]
        ]
        denied, read = host.last_results()  # in the order in which they ended
        assert denied == "not this one"
        assert "text of one" in read


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"behavior": "maybe"}, "behavior must be allow or deny"),
        ({}, "behavior must be allow or deny"),
        ({"behavior": "deny"}, "doesn't want to take this action"),
        ({"behavior": "deny", "message": 7}, "doesn't want to take this action"),
        ({"behavior": "allow", "updatedInput": {"file_path": 3}}, "file_path"),
    ],
)
def test_an_answer_that_is_not_valid_never_lets_a_call_run(tmp_path: Path, payload: Any, text: str) -> None:
    with raw_host(tmp_path, calls(WRITE), says("no"), flags=ASKS) as host:
        host.prompt("write")
        host.respond(host.asked("can_use_tool")["request_id"], payload)
        host.result()
        assert text in host.last_results()[0]
        assert not (host.workspace / "a.txt").exists()


def test_a_deny_rule_holds_against_another_input_of_the_host(tmp_path: Path) -> None:
    flags = (*ASKS, "--disallowedTools", "Edit(secret.txt)")
    with raw_host(tmp_path, calls(WRITE), says("no"), flags=flags) as host:
        host.prompt("write")
        other = {"file_path": str(host.workspace / "secret.txt"), "content": "x"}
        host.respond(host.asked("can_use_tool")["request_id"], {"behavior": "allow", "updatedInput": other})
        host.result()
        assert "denied" in host.last_results()[0]
        assert list(host.workspace.iterdir()) == []


def test_an_error_of_the_host_denies_the_call_and_the_turn_goes_on(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(WRITE), says("so not"), flags=ASKS) as host:
        host.prompt("write")
        host.fail(host.asked("can_use_tool")["request_id"], "the callback raised")
        assert host.result()["result"] == "so not"
        assert host.last_results()[0] == "Tool permission request failed: Error: the callback raised"


def test_a_host_that_closes_its_input_denies_every_call_once(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(WRITE), calls(WRITE), says("gave up"), flags=ASKS) as host:
        host.prompt("write")
        host.asked("can_use_tool")
        host.close_input()
        result = host.result()
        assert (result["result"], len(result["permission_denials"])) == ("gave up", 2)
        assert "stream closed before response received" in host.last_results()[0]
        assert sum(line["type"] == "control_request" for line in host.lines) == 1
        assert host.end() == 0


def test_a_host_learns_of_the_mode_that_it_approved(tmp_path: Path) -> None:
    update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    with raw_host(tmp_path, calls(WRITE), calls(WRITE), says("ok"), flags=ASKS) as host:
        host.prompt("write")
        host.respond(
            host.asked("can_use_tool")["request_id"], {"behavior": "allow", "updatedPermissions": [update, update]}
        )
        assert host.result()["permission_denials"] == []
        modes = [line.get("permissionMode") for line in host.lines if line.get("subtype") == "status"]
        assert modes == ["acceptEdits"]


def test_an_interrupt_cancels_the_question_at_the_host(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(WRITE), says("next"), flags=ASKS) as host:
        host.prompt("write")
        asked = host.asked("can_use_tool")
        host.request("stop", subtype="interrupt")
        cancelled = host.until(lambda line: line["type"] == "control_cancel_request")
        assert cancelled["request_id"] == asked["request_id"]
        assert host.result()["subtype"] == "error_during_execution"
        host.respond(asked["request_id"], {"behavior": "allow"})  # too late
        host.prompt("again")
        assert host.result()["result"] == "next"
        assert not (host.workspace / "a.txt").exists()


def test_plan_mode_is_left_only_with_the_users_approval(tmp_path: Path) -> None:
    leave = ("ExitPlanMode", {"plan": "write a.txt"})
    flags = (*ASKS, "--permission-mode", "plan")
    with raw_host(tmp_path, calls(leave), calls(WRITE), calls(leave), calls(WRITE), says("ok"), flags=flags) as host:
        host.prompt("go")
        host.respond(host.asked("can_use_tool")["request_id"], {"behavior": "deny", "message": "more detail"})
        again = host.asked("can_use_tool")
        assert again["tool_name"] == "ExitPlanMode"  # no question about the write: plan mode never writes
        host.respond(again["request_id"], {"behavior": "allow"})
        host.respond(host.asked("can_use_tool")["request_id"], {"behavior": "allow"})
        host.result()
        modes = [line.get("permissionMode") for line in host.lines if line.get("subtype") == "status"]
        assert modes == ["default"]
        assert host.last_results()[0] == "more detail"
        assert (host.workspace / "a.txt").exists()


def test_a_hook_that_asks_gives_the_host_its_reason_and_every_callback_has_an_id(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(("Bash", {"command": "touch x"})), says("no"), flags=ASKS) as host:
        hooks = {event: [{"hookCallbackIds": [event]}] for event in ("UserPromptSubmit", "PreToolUse", "Stop")}
        host.request("1", subtype="initialize", hooks=hooks)
        host.prompt("go")
        prompt = host.asked("hook_callback")
        assert prompt["tool_use_id"]
        assert "init" not in [line.get("subtype") for line in host.lines]
        host.respond(prompt["request_id"], {})
        call = host.asked("hook_callback")
        asks = {
            "permissionDecision": "ask",
            "permissionDecisionReason": "sure?",
            "updatedInput": {"command": "touch y"},
        }
        host.respond(call["request_id"], {"hookSpecificOutput": {"hookEventName": "PreToolUse", **asks}})
        asked = host.asked("can_use_tool")
        assert (asked["decision_reason"], asked["decision_reason_type"]) == ("sure?", "hook")
        assert asked["tool_use_id"] == call["tool_use_id"]
        assert "permission_suggestions" not in asked
        host.respond(asked["request_id"], {"behavior": "deny", "message": "no"})
        end = host.asked("hook_callback")
        assert end["tool_use_id"]
        host.respond(end["request_id"], {})
        assert host.result()["permission_denials"][0]["tool_input"] == {"command": "touch y"}


@pytest.mark.parametrize("changed", [{}, {"command": "touch x", "mine": 1}])
def test_an_approval_may_keep_the_input_or_add_to_it(tmp_path: Path, changed: dict[str, Any]) -> None:
    with raw_host(tmp_path, calls(("Bash", {"command": "touch x"})), says("ok"), flags=ASKS) as host:
        host.prompt("go")
        host.respond(host.asked("can_use_tool")["request_id"], {"behavior": "allow", "updatedInput": changed})
        assert host.result()["permission_denials"] == []
        assert (host.workspace / "x").exists()


def test_the_model_is_not_blamed_for_what_the_host_gives(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(("Bash", {"command": "touch x"})), says("ok"), flags=ASKS) as host:
        host.prompt("go")
        host.respond(host.asked("can_use_tool")["request_id"], {"behavior": "allow", "updatedInput": {"command": 3}})
        host.result()
        assert "The permission handler returned updatedInput for Bash" in host.last_results()[0]
