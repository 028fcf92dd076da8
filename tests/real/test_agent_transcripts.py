"""The real Claude Code goes on with sessions of ours, and we go on with its."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.compaction.compact_history import Compacted, Compactor, record
from bridle.agent.compaction.window import Window
from bridle.agent.model.api.question import Message
from bridle.agent.sessions.api_messages import AnswerHead, blocks_of
from bridle.agent.sessions.open_session import Place, open_session
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.session_request import SessionRequest
from bridle.agent.sessions.valid_history import NO_RESULT
from tests.agent.fixtures.recorded_transcripts import comparable, lines_in
from tests.fixtures.bridle_program import BRIDLE
from tests.real.fixtures.claude_on_stage import LIMIT_SECONDS, Scene, calls, processes_with, says, scene
from tests.real.fixtures.installed_programs import claude_program

pytestmark = pytest.mark.real

AGENT = BRIDLE.parent / "bridle-agent"
# Ids that the stage makes up.
_IDS = re.compile(r"(msg|req|toolu)_[0-9a-f_]+")
ID = "aaaaaaaa-0000-4000-8000-000000000001"


def place(set_up: Scene) -> Place:
    return Place(set_up.home / ".claude", set_up.workspace, "2.1.197")


def claude(set_up: Scene, *arguments: str) -> list[dict[str, Any]]:
    """The events of one run of the real program."""
    done = subprocess.run(
        [str(claude_program()), "-p", "--output-format", "stream-json", "--verbose", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=set_up.workspace,
        env=set_up.environment(),
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked(set_up: Scene) -> list[tuple[str, list[str]]]:
    """Who said what in the last request, without what the program says itself."""
    short = []
    for message in set_up.bodies()[-1]["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        words = [word for block in blocks if not (word := _word(block)).startswith("<")]
        if message["role"] != "system" and words:
            short.append((message["role"], words))
    return short


def _word(block: dict[str, Any]) -> str:
    return str(block.get("text") or block.get("thinking") or block.get("name") or block.get("content"))


def said(session: Session, question: str, *blocks: dict[str, Any]) -> list[str]:
    session.prompt(question, permission_mode="default")
    marked = [(new_uuid(), block) for block in blocks]
    session.assistant(AnswerHead(id=f"msg_{question}", model="claude-opus-4-8"), marked, request_id="req_1")
    return [uuid for uuid, _ in marked]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": "ls"}}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": f"result of {call_id}"}


def test_the_real_one_goes_on_with_a_session_of_ours(tmp_path: Path) -> None:
    with scene(tmp_path, says("Last."), says("Forked.")) as set_up:
        session = open_session(SessionRequest(session_id=ID, name="ours"), place(set_up))
        thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        first, second = said(session, "one", thought, text("two"), call("c1"), call("c2"))[2:]
        session.tool_result(result("c2"), detail={"stdout": ""}, source=second)
        session.tool_result(result("c1"), detail={"stdout": ""}, source=first)
        session.midturn("in between")
        session.assistant(AnswerHead(id="msg_2"), [(new_uuid(), text("three"))], request_id=None)
        session.close()
        with (place(set_up).config_folder / "projects" / _folder(set_up) / f"{ID}.jsonl").open("ab") as file:
            file.write(b'{"type":"user","uuid":"torn')  # and a crash
        events = claude(set_up, "four", "--resume", "ours")
        assert events[-1]["session_id"] == ID
        conversation = asked(set_up)
        assert conversation[0] == ("user", ["one"])
        assert conversation[1][1][-3:] == ["two", "Bash", "Bash"]
        assert sorted(conversation[2][1])[:2] == ["result of c1", "result of c2"]
        assert conversation[-2:] == [("assistant", ["three"]), ("user", ["four"])]
        # what it has added is ours to go on with again
        again = open_session(SessionRequest(resume=ID), place(set_up))
        again.close()
        assert again.history.messages[-1]["content"] == [text("Last.")]


def _folder(set_up: Scene) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in str(set_up.workspace))


def test_the_real_one_goes_on_after_a_summary_of_ours(tmp_path: Path) -> None:
    async def summary(messages: list[Message]) -> str:
        return "<summary>The past in short.</summary>"

    with scene(tmp_path, says("Last.")) as set_up:
        session = open_session(SessionRequest(session_id=ID), place(set_up))
        messages: list[Message] = []
        for number in range(3):
            said(session, f"question {number}", text(f"answer {number}"))
            messages += [
                {"role": "user", "content": [text(f"question {number}")]},
                {"role": "assistant", "content": [text(f"answer {number}")]},
            ]
        outcome = asyncio.run(
            Compactor({}).compact(
                messages,
                Window(200_000, 32_000),
                trigger="auto",
                used_tokens=180_000,
                ask=summary,
                transcript_path=str(session.path),
                now=lambda: 0.0,
            )
        )
        assert isinstance(outcome, Compacted)
        record(outcome, session)
        said(session, "question 3", text("answer 3"))
        session.close()
        claude(set_up, "question 4", "--resume", ID)
        conversation = asked(set_up)
        assert conversation == [
            ("user", [outcome.summary]),
            ("assistant", ["answer 2"]),
            ("user", ["question 3"]),
            ("assistant", ["answer 3"]),
            ("user", ["question 4"]),
        ]


def test_we_go_on_with_a_session_of_the_real_one_in_the_words_that_it_would_use(tmp_path: Path) -> None:
    both = {"blocks": ["Let me see.", *(calls("Bash", command=f"echo {word}")["blocks"][0] for word in "ab")]}
    with scene(tmp_path, says("Two."), both, says("Four."), says("Six.")) as set_up:
        claude(set_up, "one", "--session-id", ID, "--model", "haiku")
        claude(set_up, "three", "--resume", ID, "--allowedTools", "Bash", "--model", "haiku")
        session = open_session(SessionRequest(resume=ID), place(set_up))
        session.close()
        claude(set_up, "five", "--resume", ID, "--model", "haiku")
        theirs = [message for message in set_up.bodies()[-1]["messages"] if message["role"] != "system"]
        assert plain(session.history.messages) == plain(theirs)[:-1]


def test_we_know_the_files_and_tasks_of_a_session_of_the_real_one(tmp_path: Path) -> None:
    first = (
        calls("Read", file_path="a.txt"),
        calls("TaskCreate", subject="Do A", description="d"),
        calls("TaskUpdate", taskId="1", status="in_progress"),
        says("First."),
    )
    second = (calls("TaskList"), calls("Edit", file_path="a.txt", old_string="one", new_string="1"), says("Second."))
    with scene(tmp_path, *first, *second) as set_up:
        (set_up.workspace / "a.txt").write_text("one\n")
        claude(set_up, "one", "--session-id", ID)
        subprocess.run(
            [str(AGENT), "-p", "two", "--resume", ID, "--allowedTools", "Edit"],
            stdin=subprocess.DEVNULL,
            cwd=set_up.workspace,
            env=set_up.environment(),
            timeout=LIMIT_SECONDS,
            check=True,
        )
        assert ("user", ["#1 [in_progress] Do A"]) in asked(set_up)
        assert (set_up.workspace / "a.txt").read_text() == "1\n"


def plain(messages: Sequence[Message]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Messages as lists of blocks, without marks for the cache and what the program says itself."""
    short = []
    for message in messages:
        blocks = blocks_of(message["content"])
        kept = [{name: value for name, value in block.items() if name != "cache_control"} for block in blocks]
        short.append((message["role"], [block for block in kept if not _word(block).startswith("<system-reminder>")]))
    return short


def test_a_run_of_the_real_one_that_was_killed_in_a_call_can_be_gone_on_with(tmp_path: Path) -> None:
    with scene(tmp_path, calls("Bash", command="sleep 600")) as set_up:
        argv = [str(claude_program()), "-p", "go", "--session-id", ID, "--allowedTools", "Bash"]
        argv += ["--output-format", "stream-json", "--verbose"]
        with subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            cwd=set_up.workspace,
            env=set_up.environment(),
            start_new_session=True,
        ) as run:
            assert run.stdout is not None
            path = place(set_up).config_folder / "projects" / _folder(set_up) / f"{ID}.jsonl"
            while b'"type":"assistant"' not in (path.read_bytes() if path.exists() else b""):
                assert run.stdout.readline() or run.poll() is None
            run.kill()
        for pid in processes_with(str(set_up.home)):
            os.kill(pid, signal.SIGKILL)  # the real one leaves its commands running when it is killed
        session = open_session(SessionRequest(resume=ID), place(set_up))
        session.close()
        last = blocks_of(session.history.messages[-1]["content"])
        assert [block["content"] for block in last] == [NO_RESULT]


def test_both_programs_leave_the_same_transcript(tmp_path: Path) -> None:
    left = [left_by(tmp_path / name, program) for name, program in (("theirs", claude_program()), ("ours", AGENT))]
    assert left[1] == left[0]


def left_by(folder: Path, program: Path) -> list[str]:
    """What one of the two writes about the same two runs."""
    folder.mkdir()
    slow = calls("Bash", command="sleep 1; echo a")["blocks"][0]  # both run at once: which ends first must be certain
    both = {"blocks": ["Look.", slow, calls("Read", file_path="no")["blocks"][0]]}
    thought = {"blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, "Done."]}
    usage = {"usage": {"input_tokens": 100, "output_tokens": 20}}
    with scene(folder, both | usage, thought | usage, says("Again.") | usage) as set_up:
        for arguments in (("one", "--session-id", ID), ("two", "--resume", ID)):
            subprocess.run(
                [str(program), "-p", *arguments, "--model", "haiku", "--allowedTools", "Bash", "Read"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd=set_up.workspace,
                env=set_up.environment(),
                timeout=LIMIT_SECONDS,
                check=True,
            )
        path = place(set_up).config_folder / "projects" / _folder(set_up) / f"{ID}.jsonl"
        texts = comparable(lines_in(path))
        return [_IDS.sub(r"\1_x", text.replace(str(set_up.workspace), "/workspace")) for text in texts]
