"""Sessions of the SDKs: resume, fork, continue, ids, and what a host adds to them."""

from __future__ import annotations

import json

import pytest

from tests.real.fixtures.claude_on_stage import calls, says, user_texts
from tests.real.fixtures.sdk_session import Acts, inits, of_class, results, tool_results

pytestmark = pytest.mark.real

SESSION = "11111111-2222-4333-8444-555555555555"


def test_a_query_continues_a_session_and_a_fork_leaves_it_alone(acts: Acts) -> None:
    with acts(says("First."), says("Second."), says("Third.")) as drive:
        [first] = results(drive.query("one"))
        [second] = results(drive.query("two", resume=first["session_id"]))
        [third] = results(drive.query("three", resume=first["session_id"], fork_session=True))
        assert second["session_id"] == first["session_id"] != third["session_id"]
        assert user_texts(drive.bodies()[-1])[-1] == "three"
        whole = json.dumps(drive.bodies()[-1]["messages"])
        assert all(word in whole for word in ("one", "First.", "two", "Second."))


def test_the_newest_session_of_a_folder_is_continued(acts: Acts) -> None:
    with acts(says("First."), says("Second.")) as drive:
        [first] = results(drive.query("one"))
        [second] = results(drive.query("two", continue_conversation=True))
        assert second["session_id"] == first["session_id"]
        assert "First." in json.dumps(drive.bodies()[-1]["messages"])


def test_a_session_has_the_id_that_the_host_chose(acts: Acts) -> None:
    with acts(says("ok")) as drive:
        messages = drive.query("go", session_id=SESSION)
        assert results(messages)[0]["session_id"] == inits(messages)[0]["session_id"] == SESSION


def test_a_client_resumes_a_session(acts: Acts) -> None:
    with acts(says("First."), says("Second.")) as drive:
        [first] = results(drive.client("one"))
        [second] = results(drive.client("two", resume=first["session_id"]))
        assert second["session_id"] == first["session_id"]
        assert [text for text in user_texts(drive.bodies()[-1]) if text in ("one", "two")] == ["one", "two"]


def test_partial_messages_of_a_client_come_in_every_turn(acts: Acts) -> None:
    with acts(says("one"), says("two")) as drive:
        messages = drive.client("a", "b", include_partial_messages=True)
        kinds = [message["event"]["type"] for message in of_class(messages, "StreamEvent")]
        assert kinds.count("message_start") == kinds.count("message_stop") == 2


def test_structured_output_of_a_client_is_in_its_result(acts: Acts) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with acts(calls("StructuredOutput", n=7)) as drive:
        messages = drive.client("a number", output_format={"type": "json_schema", "schema": schema})
        assert results(messages)[0]["structured_output"] == {"n": 7}


def test_a_store_of_the_host_gets_every_message_of_the_session_and_of_its_agents(acts: Acts) -> None:
    agent = calls("Agent", description="Look", prompt="look around", subagent_type="general-purpose")
    with acts(agent, calls("Bash", command="echo inner"), says("Report."), says("Done.")) as drive:
        messages = drive.query("go", stores=True, allowed_tools=["Bash"])
        [path] = (drive.scene.home / ".claude" / "projects").glob("*/*.jsonl")
        stored = of_class(messages, "stored")
        entries = [entry for message in stored if message["subpath"] is None for entry in message["entries"]]
        assert entries == [json.loads(line) for line in path.read_text().splitlines()]
        assert [entry["type"] for entry in entries if entry["type"] in ("user", "assistant")][:2] == [
            "user",
            "assistant",
        ]
        inner = json.dumps([message["entries"] for message in stored if message["subpath"]])
        assert all(text in inner for text in ("look around", "echo inner", "Report."))


def test_a_variable_of_the_host_reaches_the_commands(acts: Acts) -> None:
    with acts(calls("Bash", command="printenv COLOUR"), says("ok")) as drive:
        messages = drive.query("go", env={"COLOUR": "teal"}, allowed_tools=["Bash"])
        assert tool_results(messages)[0]["content"] == "teal"


def test_a_file_that_was_read_can_be_edited_in_a_later_turn(acts: Acts) -> None:
    edit = calls("Edit", file_path="a.txt", old_string="one", new_string="two")
    with acts(calls("Read", file_path="a.txt"), says("read"), edit, says("edited")) as drive:
        (drive.workspace / "a.txt").write_text("one\n")
        drive.client("read it", "edit it", permission_mode="acceptEdits")
        assert (drive.workspace / "a.txt").read_text() == "two\n"
