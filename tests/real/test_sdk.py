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

    def client(self, *turns: Message, **options: Any) -> list[Message]:
        """A client that lives for several turns."""
        return self._run({"via": "client", "turns": turns, "options": options})

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
