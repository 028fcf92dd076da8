"""A resumed session knows which files it has read, and its task list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.sessions.past_calls import past_calls
from tests.agent.fixtures.agent_on_stage import agent_on_stage, calls, says

ID = "aaaaaaaa-0000-4000-8000-000000000001"
UNREAD = "File has not been read yet"


def edit(name: str, old: str, new: str) -> dict[str, Any]:
    return calls("Edit", file_path=name, old_string=old, new_string=new)


@pytest.mark.parametrize("resume", [("--resume", ID), ("--continue",), ("--resume", ID, "--fork-session")])
def test_a_file_that_an_earlier_process_read_or_wrote_can_be_edited(tmp_path: Path, resume: tuple[str, ...]) -> None:
    first = (
        calls("Read", file_path="read.txt"),
        calls("Read", file_path="part.txt", offset=2, limit=1),
        calls("Write", file_path="new.txt", content="one\r\ntwo\r\n"),
        edit("read.txt", "one", "1"),
        says("First."),
    )
    edits = (edit("read.txt", "two", "2"), edit("part.txt", "two", "2"), edit("new.txt", "two", "2"))
    with agent_on_stage(tmp_path, *first, *edits, edit("never.txt", "two", "2"), says("Second.")) as place:
        for name in ("read.txt", "part.txt", "never.txt"):
            (place.workspace / name).write_text("one\ntwo\nthree\n")
        place.ask("go", "--session-id", ID)
        *edited, unread = place.ask("again", *resume).tool_results()
        texts = [(place.workspace / name).read_bytes() for name in ("read.txt", "part.txt", "new.txt")]
    assert all("updated successfully" in text for text in edited)
    assert UNREAD in unread
    assert texts == [b"1\n2\nthree\n", b"one\n2\nthree\n", b"one\r\n2\r\n"]


def test_a_file_that_changed_between_two_processes_must_be_read_again(tmp_path: Path) -> None:
    names = ("read.txt", "part.txt", "new.txt")
    first = (
        calls("Read", file_path="read.txt"),
        calls("Read", file_path="part.txt", limit=1),
        calls("Write", file_path="new.txt", content="one\n"),
        says("First."),
    )
    with agent_on_stage(tmp_path, *first, *(edit(name, "one", "1") for name in names), says("Second.")) as place:
        for name in names[:2]:
            (place.workspace / name).write_text("one\ntwo\n")
        place.ask("go", "--session-id", ID)
        for name in names:
            (place.workspace / name).write_text("one more\n")
        refused = place.ask("again", "--resume", ID).tool_results()
    assert ["modified since read" in text for text in refused] == [True, True, True]


def test_a_file_that_is_the_same_again_need_not_be_read_again(tmp_path: Path) -> None:
    answers = (calls("Read", file_path="a.txt"), says("First."), edit("a.txt", "one", "1"), says("Second."))
    with agent_on_stage(tmp_path, *answers) as place:
        file = place.workspace / "a.txt"
        file.write_text("one\n")
        place.ask("go", "--session-id", ID)
        file.unlink()
        file.write_text("one\n")
        place.ask("again", "--resume", ID)
        assert file.read_text() == "1\n"


def test_the_task_list_goes_on_and_a_fork_begins_a_new_one(tmp_path: Path) -> None:
    first = (
        *(calls("TaskCreate", subject=subject, description="d") for subject in ("A", "B", "C")),
        calls("TaskUpdate", taskId="1", status="in_progress", owner="me"),
        calls("TaskUpdate", taskId="2", addBlockedBy=["1"]),
        calls("TaskUpdate", taskId="3", status="deleted"),
        says("First."),
    )
    second = (calls("TaskList"), calls("TaskCreate", subject="D", description="d"), says("Second."))
    with agent_on_stage(tmp_path, *first, *second, calls("TaskList"), says("Third.")) as place:
        place.ask("go", "--session-id", ID)
        resumed = place.ask("again", "--resume", ID).tool_results()
        forked = place.ask("fork", "--resume", ID, "--fork-session").tool_results()
    assert resumed == [
        "#1 [in_progress] A (me)\n#2 [pending] B [blocked by #1]",
        "Task #4 created successfully: D",
    ]
    assert forked == ["No tasks found"]


def test_the_to_do_list_goes_on(tmp_path: Path) -> None:
    todos = [{"content": "A", "status": "pending", "activeForm": "Doing A"}]
    answers = (calls("TodoWrite", todos=todos), says("1"), calls("TodoWrite", todos=todos), says("2"))
    with agent_on_stage(tmp_path, *answers) as place:
        place.ask("go", "--session-id", ID, CLAUDE_CODE_ENABLE_TASKS="0")
        done = place.ask("again", "--resume", ID, CLAUDE_CODE_ENABLE_TASKS="0")
    assert done.of("user")[0]["tool_use_result"]["oldTodos"] == todos


def test_calls_that_failed_or_of_sub_agents_or_after_the_last_line_do_not_count(tmp_path: Path) -> None:
    def lines(call_id: str, **fields: Any) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": call_id, "name": "Read", "input": {"file_path": call_id}}
        result = {"type": "tool_result", "tool_use_id": call_id, "is_error": fields.pop("is_error", False)}
        return [
            {"type": "assistant", "message": {"content": [call]}, **fields},
            {"type": "user", "uuid": f"u-{call_id}", "message": {"content": [result]}, **fields},
        ]

    written = [*lines("a"), *lines("b", is_error=True), *lines("c", isSidechain=True), *lines("d"), *lines("e")]
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("not json\n[]\n" + "".join(json.dumps(line) + "\n" for line in written))
    assert [call.arguments["file_path"] for call in past_calls(transcript, "u-d")] == ["a", "d"]
    assert len(list(past_calls(transcript, None))) == 3
