"""`query()`: answers, tools, structured output, limits, prompts, errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.real.fixtures.claude_on_stage import calls, offered, says, user_texts
from tests.real.fixtures.sdk_session import Acts, inits, of_class, results, texts, tool_results

pytestmark = pytest.mark.real

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def test_a_query_gets_words(acts: Acts) -> None:
    with acts(says("All is well.")) as drive:
        messages = drive.query("how are you")
        assert [message["class"] for message in messages] == ["SystemMessage", "AssistantMessage", "ResultMessage"]
        assert texts(messages) == ["All is well."]
        [result] = results(messages)
        assert (result["result"], result["is_error"], result["num_turns"]) == ("All is well.", False, 1)
        assert result["total_cost_usd"] > 0
        assert user_texts(drive.bodies()[0])[-1] == "how are you"


def test_a_query_uses_tools(acts: Acts) -> None:
    with acts(
        calls("Write", file_path="made.txt", content="made\n"),
        calls("Bash", command="cat made.txt"),
        calls("WebFetch", url="http://127.0.0.1:9/", prompt="x"),
        says("Made."),
    ) as drive:
        messages = drive.query("make it", allowed_tools=["Write", "Bash"], max_turns=9, permission_mode="acceptEdits")
        assert (drive.workspace / "made.txt").read_text("utf-8") == "made\n"
        _written, printed, refused = tool_results(messages)
        assert (printed["content"], refused["is_error"]) == ("made", True)
        [result] = results(messages)
        assert [denial["tool_name"] for denial in result["permission_denials"]] == ["WebFetch"]
        assert (result["num_turns"], result["result"]) == (4, "Made.")


def test_a_query_gets_data_in_form(acts: Acts) -> None:
    with acts(says("Seven."), calls("StructuredOutput", wrong=1), calls("StructuredOutput", n=7)) as drive:
        messages = drive.query("a number", output_format={"type": "json_schema", "schema": SCHEMA})
        [result] = results(messages)
        assert (result["structured_output"], result["is_error"]) == ({"n": 7}, False)


def test_a_query_ends_at_its_limit_of_turns_and_says_so(acts: Acts) -> None:
    with acts(calls("Bash", command="echo 1"), says("never")) as drive:
        messages = drive.query("go", max_turns=1, allowed_tools=["Bash"])
        [result] = results(messages)
        assert (result["subtype"], result["is_error"]) == ("error_max_turns", True)
        assert messages[-1]["class"] == "ResultError"
        assert "Reached maximum number of turns (1)" in messages[-1]["text"]
        assert len(drive.bodies()) == 1


def test_a_query_ends_at_its_budget(acts: Acts) -> None:
    with acts(calls("Bash", command="echo 1"), says("never")) as drive:
        messages = drive.query("go", max_budget_usd=0.000001, allowed_tools=["Bash"])
        [result] = results(messages)
        assert (result["subtype"], result["is_error"]) == ("error_max_budget_usd", True)
        assert len(drive.bodies()) == 1


def test_an_error_of_the_endpoint_is_a_result_and_an_exception(acts: Acts) -> None:
    refusal = {"kind": "error", "status": 400, "message": "no such field"}
    with acts(refusal) as drive:
        messages = drive.query("go")
        [result] = results(messages)
        assert (result["subtype"], result["is_error"]) == ("success", True)
        assert "no such field" in result["result"]
        assert messages[-1]["class"] not in ("ResultMessage", "AssistantMessage")


def test_a_system_prompt_takes_the_place_of_the_programs_own(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        drive.query("go", system_prompt="You are a clock.")
        system = [block["text"] for block in drive.bodies()[0]["system"]]
        assert system[-1].startswith("You are a clock.")
        assert not any("git repository" in text for text in system)


def test_a_preset_prompt_is_kept_and_added_to(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        preset = {"type": "preset", "preset": "claude_code", "append": "Speak like a clock."}
        drive.query("go", system_prompt=preset)
        system = "\n".join(block["text"] for block in drive.bodies()[0]["system"])
        assert "Speak like a clock." in system
        assert len(system) > 2000


def test_the_model_and_the_tools_are_those_that_were_chosen(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.query("go", model="haiku", tools=["Read", "Grep"])
        [body] = drive.bodies()
        assert body["model"] == "claude-haiku-4-5-20251001"
        assert offered(body) == {"Read", "Grep"}
        assert inits(messages)[0]["model"] == "claude-haiku-4-5-20251001"


def test_a_denied_tool_is_not_offered(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.query("go", disallowed_tools=["Bash", "Write"])
        assert not {"Bash", "Write"} & offered(drive.bodies()[0])
        assert "Bash" not in inits(messages)[0]["tools"]


def test_a_folder_beside_the_project_can_be_read(acts: Acts, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "note.txt").write_text("found it\n")
    with acts(calls("Read", file_path=str(beside / "note.txt")), says("ok")) as drive:
        messages = drive.query("go", add_dirs=[str(beside)])
        assert "found it" in tool_results(messages)[0]["content"]


def test_thinking_can_be_switched_off(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        drive.query("go", thinking={"type": "disabled"})
        assert drive.bodies()[0].get("thinking", {"type": "disabled"})["type"] == "disabled"


def test_effort_reaches_the_model(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        drive.query("go", effort="low")
        assert drive.bodies()[0]["output_config"]["effort"] == "low"


def test_settings_of_the_host_hold(acts: Acts) -> None:
    settings = json.dumps({"permissions": {"deny": ["Bash(echo:*)"]}})
    with acts(calls("Bash", command="echo hi"), says("then not")) as drive:
        messages = drive.query("go", settings=settings)
        assert tool_results(messages)[0]["is_error"] is True
        assert [denial["tool_name"] for denial in results(messages)[0]["permission_denials"]] == ["Bash"]


def test_partial_messages_come_as_they_are_streamed(acts: Acts) -> None:
    with acts(says("A sentence that takes several pieces.")) as drive:
        messages = drive.query("go", include_partial_messages=True)
        deltas = [message["event"] for message in of_class(messages, "StreamEvent")]
        streamed = "".join(event["delta"]["text"] for event in deltas if event["type"] == "content_block_delta")
        assert streamed == "A sentence that takes several pieces."


def test_stderr_reaches_the_callback_of_the_host(acts: Acts) -> None:
    with acts(says("unused")) as drive:
        messages = drive.query("go", listens=True, resume="00000000-0000-4000-8000-000000000000")
        said = "".join(message["text"] for message in of_class(messages, "stderr"))
        assert "No conversation found with session ID" in said
        assert messages[-1]["class"] not in ("ResultMessage", "AssistantMessage")


def test_the_instructions_of_the_project_are_read_with_its_source(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        (drive.workspace / "CLAUDE.md").write_text("Count to seven.\n")
        drive.query("go", setting_sources=["project"])
        assert "Count to seven." in json.dumps(drive.bodies()[0]["messages"])


def test_without_sources_no_instructions_are_read(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        (drive.workspace / "CLAUDE.md").write_text("Count to seven.\n")
        drive.query("go", setting_sources=[])
        assert "Count to seven." not in json.dumps(drive.bodies()[0]["messages"])
