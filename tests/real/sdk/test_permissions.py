"""Permission requests of a client: `can_use_tool`."""

from __future__ import annotations

import json

import pytest

from tests.real.fixtures.claude_on_stage import calls, says
from tests.real.fixtures.sdk_session import Acts, requested, results, texts, tool_results

pytestmark = pytest.mark.real

ALLOW = {"behavior": "allow"}


def test_a_client_allows_a_call_with_another_input(acts: Acts) -> None:
    with acts(calls("Write", file_path="made.txt", content="as asked"), says("done")) as drive:
        other = {"file_path": str(drive.workspace / "made.txt"), "content": "as allowed"}
        messages = drive.client("write", permissions=[{"behavior": "allow", "input": other}])
        (request,) = requested(messages)
        assert (request["name"], request["input"]["content"]) == ("Write", "as asked")
        assert request["input"]["file_path"] == str(drive.workspace / "made.txt")
        assert [each["type"] for each in request["suggestions"]] == ["setMode"]
        assert (drive.workspace / "made.txt").read_text() == "as allowed"
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_a_client_denies_a_call_and_the_model_reads_why(acts: Acts) -> None:
    with acts(calls("Bash", command="touch x"), says("then not")) as drive:
        messages = drive.client("touch", permissions=[{"behavior": "deny", "message": "not on a Sunday"}])
        (denied,) = results(messages)[0]["permission_denials"]
        assert (denied["tool_name"], texts(messages)) == ("Bash", ["then not"])
        assert "not on a Sunday" in drive.last_message()
        assert not (drive.workspace / "x").exists()


def test_a_denial_that_interrupts_ends_the_turn_and_not_the_session(acts: Acts) -> None:
    with acts(calls("Bash", command="touch x"), says("a new turn")) as drive:
        permissions = [{"behavior": "deny", "message": "stop", "interrupt": True}]
        first, second = results(drive.client("touch", "and now", permissions=permissions))
        assert (first["subtype"], second["subtype"]) == ("error_during_execution", "success")
        assert len(drive.bodies()) == 2


def test_an_approved_rule_holds_for_the_rest_of_the_session(acts: Acts) -> None:
    prints = (calls("Bash", command="perl -e 1"), calls("Bash", command="perl -e 2"))
    with acts(*prints, says("both")) as drive:
        rule = {"tool_name": "Bash", "rule_content": "perl:*"}
        update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
        messages = drive.client("print", permissions=[{"behavior": "allow", "updates": [update]}])
        assert len(requested(messages)) == 1
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_an_approved_mode_holds_for_the_rest_of_the_session(acts: Acts) -> None:
    writes = (calls("Write", file_path="a", content="1"), calls("Write", file_path="b", content="2"))
    with acts(*writes, says("both")) as drive:
        update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        messages = drive.client("write", permissions=[{"behavior": "allow", "updates": [update]}])
        assert len(requested(messages)) == 1
        assert '"permissionMode": "acceptEdits"' in json.dumps([m for m in messages if "status" in json.dumps(m)])
        assert (drive.workspace / "b").read_text() == "2"


def test_several_calls_of_one_answer_are_each_decided(acts: Acts) -> None:
    both = {
        "blocks": [
            {"type": "tool_use", "name": "Bash", "input": {"command": "touch one"}},
            {"type": "tool_use", "name": "Bash", "input": {"command": "touch two"}},
        ]
    }
    with acts(both, says("done")) as drive:
        messages = drive.client("touch", permissions=[ALLOW, {"behavior": "deny", "message": "not the second"}])
        assert [request["input"]["command"] for request in requested(messages)] == ["touch one", "touch two"]
        assert ((drive.workspace / "one").exists(), (drive.workspace / "two").exists()) == (True, False)


def test_a_callback_that_fails_denies_the_call_and_the_turn_continues(acts: Acts) -> None:
    with acts(calls("Bash", command="touch x"), says("then not")) as drive:
        messages = drive.client("touch", permissions=[{"behavior": "raise", "message": "the callback broke"}])
        assert tool_results(messages)[0]["is_error"] is True
        assert "failed: Error: the callback broke" in drive.last_message()
        assert "the callback broke" in drive.last_message()
        assert texts(messages) == ["then not"]
        assert not (drive.workspace / "x").exists()


def test_what_needs_no_permission_is_not_asked(acts: Acts) -> None:
    with acts(calls("Bash", command="echo hi"), says("done")) as drive:
        messages = drive.client("echo", permissions=[])
        assert requested(messages) == []
        assert tool_results(messages)[0]["content"] == "hi"


def test_a_client_answers_a_question_of_the_model(acts: Acts) -> None:
    options = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
    questions = [{"question": "Which?", "header": "Pick", "options": options, "multiSelect": False}]
    with acts(calls("AskUserQuestion", questions=questions), says("B it is")) as drive:
        answered = {"questions": questions, "answers": {"Which?": "B"}}
        messages = drive.client("ask", permissions=[{"behavior": "allow", "input": answered}])
        (request,) = requested(messages)
        assert (request["name"], request["input"]["questions"][0]["question"]) == ("AskUserQuestion", "Which?")
        assert '\\"Which?\\"=\\"B\\"' in drive.last_message()


def test_a_plan_is_approved_and_then_written(acts: Acts) -> None:
    write = calls("Write", file_path="made.txt", content="x")
    with acts(write, calls("ExitPlanMode", plan="write it"), write, says("done")) as drive:
        messages = drive.client("plan", permissions=[ALLOW] * 3, permission_mode="plan")
        assert "ExitPlanMode" in [each["name"] for each in requested(messages)]
        assert (drive.workspace / "made.txt").read_text() == "x"


def test_dont_ask_denies_without_a_request(acts: Acts) -> None:
    with acts(calls("Bash", command="touch x"), says("then not")) as drive:
        messages = drive.client("touch", permissions=[], permission_mode="dontAsk")
        assert requested(messages) == []
        assert not (drive.workspace / "x").exists()
        assert "don't ask mode" in json.dumps(tool_results(messages))
