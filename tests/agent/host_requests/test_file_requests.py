"""Requests about files: rewind to a message, and count a file as read."""

from __future__ import annotations

import os
from pathlib import Path

from tests.agent.fixtures.raw_host import Line, RawHost, calls, raw_host, says

ENABLED = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}
FIRST, SECOND = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def write(name: str, text: str) -> Line:
    return calls(("Write", {"file_path": name, "content": text}))


def turn(host: RawHost, uuid: str) -> Line:
    host.send({"type": "user", "uuid": uuid, "message": {"role": "user", "content": "go"}})
    return host.result()


def ask(host: RawHost, request_id: str, **request: object) -> Line:
    host.request(request_id, **request)
    return host.response(request_id)


def test_files_are_rewound_to_a_message_of_the_user(tmp_path: Path) -> None:
    answers = (write("a.txt", "one"), says("1"), write("a.txt", "two"), says("2"))
    with raw_host(tmp_path, *answers, flags=("--permission-mode", "acceptEdits"), environment=ENABLED) as host:
        turn(host, FIRST)
        turn(host, SECOND)
        preview = ask(host, "1", subtype="rewind_files", user_message_id=SECOND, dry_run=True)["response"]
        assert preview == {
            "canRewind": True,
            "filesChanged": [str(host.workspace / "a.txt")],
            "insertions": 1,
            "deletions": 1,
        }
        assert (host.workspace / "a.txt").read_text() == "two"
        assert ask(host, "2", subtype="rewind_files", user_message_id=SECOND)["response"] == {"canRewind": True}
        assert (host.workspace / "a.txt").read_text() == "one"
        assert ask(host, "3", subtype="rewind_files", user_message_id=FIRST)["response"] == {"canRewind": True}
        assert not (host.workspace / "a.txt").exists()


def test_the_files_that_a_sub_agent_changed_are_rewound_too(tmp_path: Path) -> None:
    task = calls(("Agent", {"description": "d", "prompt": "WRITE"}))
    answers = (write("a.txt", "one"), says("1"), task, write("b.txt", "two"), says("Written."), says("2"))
    with raw_host(tmp_path, *answers, flags=("--permission-mode", "acceptEdits"), environment=ENABLED) as host:
        turn(host, FIRST)
        turn(host, SECOND)
        assert (host.workspace / "b.txt").read_text() == "two"
        assert ask(host, "1", subtype="rewind_files", user_message_id=SECOND)["response"] == {"canRewind": True}
        assert not (host.workspace / "b.txt").exists()


def test_a_resumed_and_a_forked_session_can_rewind(tmp_path: Path) -> None:
    flags = ("--permission-mode", "acceptEdits")
    with raw_host(tmp_path, write("a.txt", "one"), says("1"), flags=flags, environment=ENABLED) as host:
        session = turn(host, FIRST)["session_id"]
        assert host.end() == 0
    for more in (("--resume", session, "--fork-session"), ("--resume", session)):
        (tmp_path / "workspace" / "a.txt").write_text("one")
        with raw_host(tmp_path, says("2"), flags=(*flags, *more), environment=ENABLED) as host:
            turn(host, SECOND)
            assert ask(host, "1", subtype="rewind_files", user_message_id=FIRST)["subtype"] == "success"
            assert not (host.workspace / "a.txt").exists()
            assert ask(host, "2", subtype="rewind_files", user_message_id=SECOND)["subtype"] == "success"
            assert (host.workspace / "a.txt").read_text() == "one"
            assert host.end() == 0


def test_a_rewind_that_cannot_be_done_says_why(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("1"), environment=ENABLED) as host:
        assert "No file checkpoint" in ask(host, "1", subtype="rewind_files", user_message_id=FIRST)["error"]
        assert "No file checkpoint" in ask(host, "2", subtype="rewind_files", user_message_id=5)["error"]
    with raw_host(tmp_path, says("1")) as host:
        turn(host, FIRST)
        assert "not enabled" in ask(host, "1", subtype="rewind_files", user_message_id=FIRST)["error"]


def test_a_seeded_file_can_be_edited_without_a_read(tmp_path: Path) -> None:
    edit = ("Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
    with raw_host(tmp_path, calls(edit), says("1"), calls(edit), says("2"), flags=("--allowedTools", "Edit")) as host:
        path = host.workspace / "a.txt"
        path.write_text("one")
        seen = os.stat(path).st_mtime_ns // 1_000_000
        ask(host, "1", subtype="seed_read_state", path=str(path), mtime=seen - 1)
        turn(host, FIRST)
        assert path.read_text() == "one"
        ask(host, "2", subtype="seed_read_state", path="a.txt", mtime=seen)
        assert ask(host, "3", subtype="seed_read_state", path="/dev/zero", mtime=seen)["subtype"] == "success"
        turn(host, SECOND)
        assert path.read_text() == "two"
