"""What a session writes, when it is on the disk, and what a crash leaves of it."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.sessions.api_messages import AnswerHead, blocks_of
from bridle.agent.sessions.history import load
from bridle.agent.sessions.open_session import Place, open_session
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.session_request import SessionRequest
from bridle.agent.sessions.transcript_entries import Origin
from bridle.errors import DiskError
from tests.agent.fixtures.recorded_transcripts import Line, lines_in
from tests.sizes import SIZES

LIMIT_SECONDS = 60
ORIGIN = Origin(session_id="aaaaaaaa-0000-4000-8000-000000000001", cwd="/project", version="2.1.197")


def started_session(folder: Path) -> Session:
    session = Session(ORIGIN, folder / "session.jsonl")
    session.prompt("one", permission_mode="default")
    return session


def call(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {}}


def result(call_id: str) -> dict[str, Any]:
    return {"tool_use_id": call_id, "type": "tool_result", "content": call_id}


def written(session: Session) -> list[Line]:
    session.flush()
    assert session.path is not None
    return messages_in(session.path)


def messages_in(path: Path) -> list[Line]:
    """The lines that have a message; those of the queue are left out."""
    return [line for line in lines_in(path) if "uuid" in line]


def test_nothing_is_written_before_it_is_flushed_and_everything_after(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    assert not (tmp_path / "session.jsonl").exists()
    session.flush()
    session.note("a nudge")
    assert len(messages_in(tmp_path / "session.jsonl")) == 1
    asyncio.run(session.save())
    assert len(messages_in(tmp_path / "session.jsonl")) == 2


def test_each_line_follows_the_one_before_it(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    session.note("a nudge")
    session.assistant(AnswerHead(id="m"), [(new_uuid(), {"type": "text", "text": t}) for t in "ab"], request_id="r")
    session.synthetic({"id": "s", "model": "<synthetic>"}, uuid=new_uuid(), error="unknown", status=400)
    session.midturn("in between")
    lines = written(session)
    assert [line["parentUuid"] for line in lines] == [None, *(line["uuid"] for line in lines[:-1])]
    assert session.leaf == lines[-1]["uuid"]


def test_every_message_is_recorded_as_queued_before_its_turn(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    session.enqueue("two")
    session.note("a nudge")
    session.midturn("two")
    session.midturn("three")
    session.prompt("four", permission_mode="default")
    session.close()
    kinds = [line.get("operation") or line["type"] for line in lines_in(tmp_path / "session.jsonl")]
    assert kinds == [
        *("enqueue", "dequeue", "user"),
        *("enqueue", "user", "remove", "attachment"),
        *("enqueue", "remove", "attachment"),
        *("enqueue", "dequeue", "user", "last-prompt"),
    ]


def test_an_answer_always_has_an_id_and_a_model(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    session.assistant(AnswerHead(id=None), [(new_uuid(), call("a")), (new_uuid(), call("b"))], request_id=None)
    first, second = (line["message"] for line in written(session)[1:])
    assert first["id"] == second["id"]
    assert first["id"].startswith("msg_")
    assert first["model"] == "unknown"


def test_a_result_that_comes_before_the_answer_is_complete_is_written_after_it(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    first, second = new_uuid(), new_uuid()
    noted = session.tool_result(result("c1"), detail=None, source=first, timestamp="2026-11-15T00:00:00.000Z")
    assert noted.timestamp == "2026-11-15T00:00:00.000Z"
    session.assistant(AnswerHead(id="m"), [(first, call("c1")), (second, call("c2"))], request_id=None)
    session.tool_result(result("c2"), detail={"stdout": ""}, source=second)
    lines = written(session)
    assert [line["type"] for line in lines] == ["user", "assistant", "assistant", "user", "user"]
    assert lines[3]["uuid"] == noted.uuid
    assert [line["parentUuid"] for line in lines[3:]] == [first, second]
    assert session.leaf == lines[4]["uuid"]


def test_a_result_whose_answer_never_came_is_not_written(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    session.tool_result(result("c1"), detail=None, source=new_uuid())
    session.prompt("two", permission_mode="default")
    assert [line["message"]["content"] for line in written(session)] == ["one", "two"]


def test_the_last_prompt_is_recorded_in_one_short_line(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    session.prompt([{"type": "text", "text": "two\nlines " + "x" * 300}, {"type": "image"}], permission_mode="default")
    session.close()
    session.close()
    line = lines_in(tmp_path / "session.jsonl")[-1]
    assert line["lastPrompt"] == "two lines " + "x" * 190 + "…"
    assert line["leafUuid"] == session.leaf


def test_lines_of_the_last_messages_are_known(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    first, second = new_uuid(), new_uuid()
    session.assistant(AnswerHead(id="m"), [(first, call("c1")), (second, call("c2"))], request_id=None)
    results = [
        session.tool_result(result(name), detail=None, source=uuid) for name, uuid in (("c1", first), ("c2", second))
    ]
    assert session.last_lines(0) == []
    assert session.last_lines(1) == [noted.uuid for noted in results]
    assert session.last_lines(2) == [first, second, *(noted.uuid for noted in results)]
    assert len(session.last_lines(9)) == 5


def test_saves_that_overlap_write_every_line_once_and_in_order(tmp_path: Path) -> None:
    session = started_session(tmp_path)

    async def many() -> None:
        saves = []
        for number in range(200):
            session.note(str(number))
            saves.append(asyncio.ensure_future(session.save()))
            await asyncio.sleep(0)
        await asyncio.gather(*saves)

    asyncio.run(many())
    assert [line["message"]["content"] for line in messages_in(tmp_path / "session.jsonl")[1:]] == [
        str(number) for number in range(200)
    ]


def test_a_save_that_is_cancelled_loses_nothing(tmp_path: Path) -> None:
    session = started_session(tmp_path)

    async def cancelled() -> None:
        save = asyncio.ensure_future(session.save())
        await asyncio.sleep(0)
        save.cancel()
        with pytest.raises(asyncio.CancelledError):
            await save

    asyncio.run(cancelled())
    session.note("after")
    assert [line["message"]["content"] for line in written(session)] == ["one", "after"]


def test_lines_that_could_not_be_written_are_written_by_the_next_flush(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder belongs", "utf-8")
    session = Session(ORIGIN, blocked / "session.jsonl")
    session.prompt("one", permission_mode="default")
    with pytest.raises(DiskError, match="could not be created"):
        session.flush()
    blocked.unlink()
    session.note("two")
    assert [line["message"]["content"] for line in written(session)] == ["one", "two"]


def test_an_incomplete_line_after_a_crash_is_separated_from_the_next(tmp_path: Path) -> None:
    place = Place(tmp_path / "config", tmp_path, "2.1.197")
    session = open_session(SessionRequest(), place)
    session.prompt("one", permission_mode="default")
    session.flush()
    path = session.path
    assert path is not None
    session.close()
    with path.open("ab") as file:
        file.write(b'{"type":"user","uuid":"torn')
    again = open_session(SessionRequest(resume=session.id), place)
    again.prompt("two", permission_mode="default")
    again.close()
    assert [blocks_of(message["content"])[-1]["text"] for message in load(path).messages] == ["two"]
    assert b'torn\n{"type":"queue-operation"' in path.read_bytes()
    assert path.read_bytes().count(b"\n\n") == 0


WRITER = """
import sys
from pathlib import Path
from bridle.agent.sessions.api_messages import AnswerHead
from bridle.agent.sessions.session import new_uuid
from bridle.agent.sessions.open_session import Place, open_session
from bridle.agent.sessions.session_request import SessionRequest
config, cwd, session_id = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
forks = len(sys.argv) > 4
resume = sys.argv[4] if forks else None
session = open_session(SessionRequest(resume=resume, forks=forks, session_id=session_id), Place(config, cwd, "2.1.197"))
number = 0
while True:
    session.prompt(f"question {number} " + "x" * (number * 997 % 20000), permission_mode="default")
    call = new_uuid()
    block = {"type": "tool_use", "id": f"c{number}", "name": "Bash", "input": {}}
    session.assistant(AnswerHead(id=f"m{number}"), [(call, block)], request_id=None)
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "y" * (number * 331 % 30000)}
    session.tool_result(result, detail=None, source=call)
    session.flush()
    sys.stdout.write(f"{number}\\n")  # from here on it must not be lost
    sys.stdout.flush()
    number += 1
"""


def test_whatever_was_acknowledged_survives_a_kill_at_any_moment(tmp_path: Path) -> None:
    place = Place(tmp_path / "config", tmp_path, "2.1.197")
    moments = random.Random(4)  # noqa: S311 -- the same moments in every run
    for _ in range(SIZES.kill_points):
        session_id = new_uuid()
        argv = [sys.executable, "-c", WRITER, str(place.config_folder), str(place.cwd), session_id]
        acknowledged = killed_after(argv, moments.randrange(1, 40), moments.random() * 0.01)
        session = open_session(SessionRequest(resume=session_id), place)  # no lock is left behind either
        questions = [
            block["text"].split()[1]
            for message in session.history.messages
            for block in blocks_of(message["content"])
            if block["type"] == "text"
        ]
        assert questions[: acknowledged + 1] == [str(number) for number in range(acknowledged + 1)]
        session.prompt("after the crash", permission_mode="default")
        session.close()
        again = open_session(SessionRequest(resume=session_id), place)
        assert blocks_of(again.history.messages[-1]["content"])[-1]["text"] == "after the crash"
        again.close()


def killed_after(argv: list[str], lines: int, seconds: float) -> int:
    """Kill a writer a moment after so many lines of it; return the last number that it printed."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        for _ in range(lines):
            assert writer.stdout.readline()
        time.sleep(seconds)  # not to wait for anything: the kill is to come at any moment
        writer.kill()
        rest = writer.stdout.read()
        writer.wait(LIMIT_SECONDS)
    whole = rest[: rest.rfind(b"\n") + 1].split()
    return int(whole[-1]) if whole else lines - 1


def test_a_fork_that_was_killed_is_complete_or_absent(tmp_path: Path) -> None:
    place = Place(tmp_path / "config", tmp_path, "2.1.197")
    source = open_session(SessionRequest(), place)
    for number in range(200):
        source.prompt(f"question {number} " + "x" * 20000, permission_mode="default")
    source.close()
    whole = 0
    for number in range(SIZES.kill_points):
        session_id = new_uuid()
        argv = [sys.executable, "-c", WRITER, str(place.config_folder), str(place.cwd), session_id, source.id]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as writer:
            folder = place.config_folder / "projects" / str(place.cwd).replace("/", "-").replace("_", "-")
            wait_until_it_writes(folder, session_id)
            time.sleep(number * 0.002)
            writer.kill()
            writer.wait(LIMIT_SECONDS)
        path = folder / f"{session_id}.jsonl"
        if path.exists():
            whole += 1
            assert len(load(path).messages[0]["content"]) >= 200
    assert len(list(folder.glob("*.jsonl"))) == 1 + whole


def wait_until_it_writes(folder: Path, session_id: str) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not any(session_id in name for name in os.listdir(folder)):
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_lines_record_the_current_working_folder(tmp_path: Path) -> None:
    session = started_session(tmp_path)
    session.set_cwd("/project/src")
    session.note("two")
    assert [line["cwd"] for line in written(session)] == ["/project", "/project/src"]


def test_files_of_a_session_are_for_their_owner_alone(tmp_path: Path) -> None:
    session = Session(ORIGIN, tmp_path / "new" / "folder" / "session.jsonl")
    session.prompt("one", permission_mode="default")
    session.flush()
    assert session.path is not None
    assert session.path.stat().st_mode & 0o777 == 0o600
    assert session.path.parent.stat().st_mode & 0o777 == 0o700
    assert messages_in(session.path)[0]["type"] == "user"
