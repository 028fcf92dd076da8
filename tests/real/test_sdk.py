"""The official Python SDK drives `bridle-agent` as it drives the real Claude Code: each test runs with both."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.fixtures.claude_on_stage import LIMIT_SECONDS, Answer, Scene, calls, says, scene, user_texts
from tests.real.fixtures.installed_programs import claude_program

pytestmark = pytest.mark.real

DRIVER = Path(__file__).parent / "fixtures" / "sdk_driver.py"
SDK_PYTHON = Path(__file__).parents[2] / ".cache" / "venv-bench-sdk" / "bin" / "python"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

Message = dict[str, Any]


def bridle_agent() -> Path:
    return Path(sys.executable).parent / "bridle-agent"


@pytest.fixture(params=[claude_program, bridle_agent], ids=["real", "ours"])
def program(request: pytest.FixtureRequest) -> Path:
    find: Callable[[], Path] = request.param
    return find()


@dataclass(frozen=True)
class Drive:
    """The SDK with one program in one scene."""

    scene: Scene
    program: Path

    def query(self, prompt: str, **options: Any) -> list[Message]:
        """`query()` to its end."""
        return self._run({"via": "query", "prompt": prompt, "options": options})

    def client(
        self,
        *turns: Message,
        permissions: list[dict[str, Any]] | None = None,
        hooks: dict[str, list[Any]] | None = None,
        **options: Any,
    ) -> list[Message]:
        """A client that lives for several turns, and gives these answers to permission requests and hooks."""
        asks = {"permissions": permissions, "hooks": hooks}
        given = {name: value for name, value in asks.items() if value is not None}
        return self._run({"via": "client", "turns": turns, "options": options, **given})

    def _run(self, order: dict[str, Any]) -> list[Message]:
        order["options"] |= {"cli_path": str(self.program), "cwd": str(self.scene.workspace)}
        done = subprocess.run(
            [str(SDK_PYTHON), str(DRIVER)],
            input=json.dumps(order).encode(),
            capture_output=True,
            env=self.scene.environment(),
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]


def classes(messages: list[Message]) -> list[str]:
    return [message["class"] for message in messages]


def results(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message["class"] == "ResultMessage"]


def texts(messages: list[Message]) -> list[str]:
    assistants = [message for message in messages if message["class"] == "AssistantMessage"]
    return [block["text"] for message in assistants for block in message["content"] if "text" in block]


def slept(mark: Path) -> Answer:
    return calls("Bash", command=f"touch {mark}; sleep 60")


def test_a_query_gets_words(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, says("All is well.")) as set_up:
        messages = Drive(set_up, program).query("how are you")
        assert classes(messages) == ["SystemMessage", "AssistantMessage", "ResultMessage"]
        assert texts(messages) == ["All is well."]
        [result] = results(messages)
        assert (result["result"], result["is_error"], result["num_turns"]) == ("All is well.", False, 1)
        assert result["total_cost_usd"] > 0
        assert user_texts(set_up.bodies()[0])[-1] == "how are you"


def test_a_query_uses_tools(program: Path, tmp_path: Path) -> None:
    file = tmp_path / "workspace" / "made.txt"
    answers = (
        calls("Write", file_path=str(file), content="made\n"),
        calls("Bash", command="cat made.txt"),
        calls("WebFetch", url="http://127.0.0.1:9/", prompt="x"),
        says("Made."),
    )
    with scene(tmp_path, *answers) as set_up:
        drive = Drive(set_up, program)
        messages = drive.query("make it", allowed_tools=["Write", "Bash"], max_turns=9, permission_mode="acceptEdits")
        assert file.read_text("utf-8") == "made\n"
        assert classes(messages) == [
            "SystemMessage",
            *["AssistantMessage", "UserMessage"] * 3,
            "AssistantMessage",
            "ResultMessage",
        ]
        assert messages[4]["content"][0]["content"] == "made"
        assert messages[4]["tool_use_result"]["stdout"] == "made"
        assert messages[6]["content"][0]["is_error"] is True
        [result] = results(messages)
        assert [denial["tool_name"] for denial in result["permission_denials"]] == ["WebFetch"]
        assert (result["num_turns"], result["result"]) == (4, "Made.")


def test_a_query_gets_data_in_form(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, says("Seven."), calls("StructuredOutput", wrong=1), calls("StructuredOutput", n=7)) as set_up:
        drive = Drive(set_up, program)
        messages = drive.query("a number", output_format={"type": "json_schema", "schema": SCHEMA})
        [result] = results(messages)
        assert (result["structured_output"], result["is_error"]) == ({"n": 7}, False)


def test_a_query_goes_on_with_a_session(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, says("First."), says("Second."), says("Third.")) as set_up:
        drive = Drive(set_up, program)
        [first] = results(drive.query("one"))
        [second] = results(drive.query("two", resume=first["session_id"]))
        [third] = results(drive.query("three", resume=first["session_id"], fork_session=True))
        assert second["session_id"] == first["session_id"] != third["session_id"]
        assert user_texts(set_up.bodies()[-1])[-1] == "three"
        whole = json.dumps(set_up.bodies()[-1]["messages"])
        assert all(word in whole for word in ("one", "First.", "two", "Second."))


def test_a_query_that_fails_says_why(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, calls("Bash", command="echo 1"), says("never")) as set_up:
        messages = Drive(set_up, program).query("go", max_turns=1, allowed_tools=["Bash"])
        [result] = results(messages)
        assert (result["subtype"], result["is_error"]) == ("error_max_turns", True)
        assert messages[-1]["class"] == "ResultError"
        assert "Reached maximum number of turns (1)" in messages[-1]["text"]


def test_partial_messages_come_as_they_are_streamed(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, says("A sentence that takes several pieces.")) as set_up:
        messages = Drive(set_up, program).query("go", include_partial_messages=True)
        deltas = [message["event"] for message in messages if message["class"] == "StreamEvent"]
        streamed = "".join(event["delta"]["text"] for event in deltas if event["type"] == "content_block_delta")
        assert streamed == "A sentence that takes several pieces."


def test_a_client_has_two_turns_in_one_session(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, says("First."), says("Second.")) as set_up:
        messages = Drive(set_up, program).client({"prompt": "one"}, {"prompt": "two"})
        first, second = results(messages)
        assert (first["result"], second["result"]) == ("First.", "Second.")
        assert first["session_id"] == second["session_id"]
        assert second["total_cost_usd"] > first["total_cost_usd"]
        assert classes(messages).count("SystemMessage") == 2
        assert {"commands", "output_style"} <= messages[-1].keys()


def test_a_client_can_interrupt_a_tool_and_go_on(program: Path, tmp_path: Path) -> None:
    started = tmp_path / "workspace" / "started"
    with scene(tmp_path, slept(started), says("Second.")) as set_up:
        turns = ({"prompt": "one", "interrupt_when": str(started)}, {"prompt": "two"})
        first, second = results(Drive(set_up, program).client(*turns, allowed_tools=["Bash"]))
        assert (first["subtype"], first["is_error"]) == ("error_during_execution", True)
        assert (second["result"], second["is_error"]) == ("Second.", False)


def requested(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message["class"] == "can_use_tool"]


def test_a_client_allows_a_call_with_another_input(program: Path, tmp_path: Path) -> None:
    made = {"file_path": "made.txt", "content": "as asked"}
    with scene(tmp_path, calls("Write", **made), says("done")) as here:
        other = {"file_path": str(here.workspace / "made.txt"), "content": "as allowed"}
        permissions = [{"behavior": "allow", "input": other}]
        messages = Drive(here, program).client({"prompt": "write"}, permissions=permissions)
        (request,) = requested(messages)
        assert (request["name"], request["input"]["content"]) == ("Write", "as asked")
        assert [each["type"] for each in request["suggestions"]] == ["setMode"]
        assert (here.workspace / "made.txt").read_text() == "as allowed"
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_a_client_denies_a_call_and_the_model_reads_why(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, calls("Bash", command="touch x"), says("then not")) as here:
        permissions = [{"behavior": "deny", "message": "not on a Sunday"}]
        messages = Drive(here, program).client({"prompt": "touch"}, permissions=permissions)
        (denied,) = results(messages)[0]["permission_denials"]
        assert (denied["tool_name"], texts(messages)) == ("Bash", ["then not"])
        assert "not on a Sunday" in json.dumps(here.bodies()[-1]["messages"][-1])
        assert not (here.workspace / "x").exists()


def test_a_denial_that_interrupts_ends_the_turn_and_not_the_session(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, calls("Bash", command="touch x"), says("a new turn")) as here:
        permissions = [{"behavior": "deny", "message": "stop", "interrupt": True}]
        turns = ({"prompt": "touch"}, {"prompt": "and now"})
        messages = Drive(here, program).client(*turns, permissions=permissions)
        first, second = results(messages)
        assert (first["subtype"], second["subtype"]) == ("error_during_execution", "success")
        assert len(here.bodies()) == 2


def test_an_approved_rule_holds_for_the_rest_of_the_session(program: Path, tmp_path: Path) -> None:
    prints = (calls("Bash", command="perl -e 1"), calls("Bash", command="perl -e 2"))
    with scene(tmp_path, *prints, says("both")) as here:
        rule = {"tool_name": "Bash", "rule_content": "perl:*"}
        update = {"type": "addRules", "rules": [rule], "behavior": "allow", "destination": "session"}
        permissions = [{"behavior": "allow", "updates": [update]}]
        messages = Drive(here, program).client({"prompt": "print"}, permissions=permissions)
        assert len(requested(messages)) == 1
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_a_client_answers_a_question_of_the_model(program: Path, tmp_path: Path) -> None:
    options = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
    questions = [{"question": "Which?", "header": "Pick", "options": options, "multiSelect": False}]
    with scene(tmp_path, calls("AskUserQuestion", questions=questions), says("B it is")) as here:
        answered = {"questions": questions, "answers": {"Which?": "B"}}
        messages = Drive(here, program).client(
            {"prompt": "ask"}, permissions=[{"behavior": "allow", "input": answered}]
        )
        (request,) = requested(messages)
        assert (request["name"], request["input"]["questions"][0]["question"]) == ("AskUserQuestion", "Which?")
        assert '\\"Which?\\"=\\"B\\"' in json.dumps(here.bodies()[-1]["messages"][-1])


def test_a_plan_is_approved_and_then_written(program: Path, tmp_path: Path) -> None:
    write = calls("Write", file_path="made.txt", content="x")
    with scene(tmp_path, write, calls("ExitPlanMode", plan="write it"), write, says("done")) as here:
        permissions = [{"behavior": "allow"}, {"behavior": "allow"}, {"behavior": "allow"}]
        messages = Drive(here, program).client({"prompt": "plan"}, permissions=permissions, permission_mode="plan")
        assert "ExitPlanMode" in [each["name"] for each in requested(messages)]
        assert (here.workspace / "made.txt").read_text() == "x"


def hook_inputs(messages: list[Message], event: str) -> list[Message]:
    return [message["input"] for message in messages if message["class"] == "hook" and message["event"] == event]


def test_hooks_of_a_client_see_prompt_call_result_and_stop_in_their_order(program: Path, tmp_path: Path) -> None:
    hooks: dict[str, list[Any]] = {"UserPromptSubmit": [], "PreToolUse": [], "PostToolUse": [], "Stop": []}
    with scene(tmp_path, calls("Bash", command="echo hi"), says("done")) as here:
        messages = Drive(here, program).client({"prompt": "go"}, hooks=hooks)
    assert [message["event"] for message in messages if message["class"] == "hook"] == list(hooks)
    assert hook_inputs(messages, "UserPromptSubmit")[0]["prompt"] == "go"
    (before,), (after,) = hook_inputs(messages, "PreToolUse"), hook_inputs(messages, "PostToolUse")
    assert (before["tool_name"], before["tool_input"]["command"]) == ("Bash", "echo hi")
    assert after["tool_response"]["stdout"] == "hi"
    assert hook_inputs(messages, "Stop")[0]["stop_hook_active"] is False


def test_a_hook_of_a_client_denies_a_call(program: Path, tmp_path: Path) -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not this"}
    with scene(tmp_path, calls("Bash", command="echo hi"), says("then not")) as here:
        hooks = {"PreToolUse": [{"hookSpecificOutput": specific}]}
        messages = Drive(here, program).client({"prompt": "go"}, hooks=hooks)
        assert "not this" in json.dumps(here.bodies()[-1]["messages"][-1])
        assert [denial["tool_name"] for denial in results(messages)[0]["permission_denials"]] == ["Bash"]


def test_a_hook_of_a_client_allows_a_call_with_another_input(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, calls("Write", file_path="a.txt", content="x"), says("done")) as here:
        other = {"file_path": str(here.workspace / "b.txt"), "content": "y"}
        specific = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": other}
        Drive(here, program).client({"prompt": "go"}, hooks={"PreToolUse": [{"hookSpecificOutput": specific}]})
        assert (here.workspace / "b.txt").read_text() == "y"
        assert not (here.workspace / "a.txt").exists()


def test_a_hook_that_asks_leads_to_a_permission_request(program: Path, tmp_path: Path) -> None:
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "sure?"}
    with scene(tmp_path, calls("Bash", command="echo hi"), says("done")) as here:
        messages = Drive(here, program).client(
            {"prompt": "go"},
            hooks={"PreToolUse": [{"hookSpecificOutput": specific}]},
            permissions=[{"behavior": "allow"}],
        )
        assert [request["name"] for request in requested(messages)] == ["Bash"]
        assert results(messages)[0]["permission_denials"] in ([], None)


def test_a_stop_hook_of_a_client_sends_the_model_back(program: Path, tmp_path: Path) -> None:
    with scene(tmp_path, says("one"), says("two")) as here:
        hooks = {"Stop": [{"decision": "block", "reason": "not yet"}]}
        messages = Drive(here, program).client({"prompt": "go"}, hooks=hooks)
        assert (texts(messages), results(messages)[0]["result"]) == (["one", "two"], "two")
        assert "Stop hook feedback:\nnot yet" in user_texts(here.bodies()[-1])
        assert [given["stop_hook_active"] for given in hook_inputs(messages, "Stop")] == [False, True]


def test_a_prompt_hook_of_a_client_adds_context(program: Path, tmp_path: Path) -> None:
    specific = {"hookEventName": "UserPromptSubmit", "additionalContext": "it is Sunday"}
    with scene(tmp_path, says("ok")) as here:
        Drive(here, program).client({"prompt": "go"}, hooks={"UserPromptSubmit": [{"hookSpecificOutput": specific}]})
        assert "it is Sunday" in json.dumps(here.bodies()[0]["messages"])
