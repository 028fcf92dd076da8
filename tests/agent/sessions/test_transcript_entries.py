"""Our transcripts are those of Claude Code, line by line, key by key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.agent.sessions import transcript_entries
from bridle.agent.sessions.api_messages import AnswerHead
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.transcript_entries import CompactMetadata, Origin
from tests.agent.fixtures.recorded_transcripts import Line, comparable, lines_in, recorded


def origin_of(line: Line) -> Origin:
    return Origin(
        session_id=line["sessionId"],
        cwd=line["cwd"],
        version=line["version"],
        entrypoint=line["entrypoint"],
        git_branch=line["gitBranch"],
    )


def written_again(lines: list[Line], path: Path) -> list[Line]:
    """What a session writes that goes through the same as a recorded one."""
    first = next(line for line in lines if "cwd" in line)
    session = Session(origin_of(first), path)
    calls: dict[str, str] = {}
    at = 0
    while at < len(lines):
        at += _played(session, lines, at, calls)
    session.close()
    return lines_in(path)


def _played(session: Session, lines: list[Line], at: int, calls: dict[str, str]) -> int:
    """Do what the line at that place records; return how many lines it took."""
    line = lines[at]
    if line.get("operation") == "enqueue" and lines[at + 1].get("operation") != "dequeue":
        session.enqueue(line.get("content", [{"type": "text", "text": "a list"}]))
    elif line["type"] == "assistant":
        return _answer(session, lines, at, calls)
    elif line["type"] == "user":
        _user(session, line, calls)
    elif line["type"] == "attachment" and line["attachment"]["type"] == "queued_command":
        session.midturn(line["attachment"]["prompt"])
    return 1


def _answer(session: Session, lines: list[Line], at: int, calls: dict[str, str]) -> int:
    line = lines[at]
    message = line["message"]
    if message["model"] == "<synthetic>":
        session.synthetic(
            message,
            uuid=new_uuid(),
            request_id=line.get("requestId"),
            error=line.get("error"),
            status=line.get("apiErrorStatus"),
        )
        return 1
    same = [line for line in lines[at:] if line.get("message", {}).get("id") == message["id"]]
    blocks = [(new_uuid(), line["message"]["content"][0]) for line in same]
    for uuid, block in blocks:
        if block["type"] == "tool_use":
            calls[block["id"]] = uuid
    session.assistant(AnswerHead.of(message), blocks, request_id=line["requestId"])
    return len(same)


def _user(session: Session, line: Line, calls: dict[str, str]) -> None:
    content = line["message"]["content"]
    if "permissionMode" in line:
        session.prompt(content, permission_mode=line["permissionMode"])
    elif "sourceToolAssistantUUID" in line:
        source = calls[content[0]["tool_use_id"]]
        session.tool_result(content[0], detail=line["toolUseResult"], source=source)
    elif str(content).startswith("<command-message>"):
        session.command(content, typed="/cmd abc def")
    else:
        is_meta = line.get("isMeta", False)
        session.note(content, is_meta=is_meta, source_call=line.get("sourceToolUseID"))


@pytest.mark.parametrize("name", ["tools.jsonl", "conversation.jsonl", "interrupted.jsonl"])
def test_a_session_writes_the_lines_that_claude_code_writes(name: str, tmp_path: Path) -> None:
    theirs = recorded(name)
    assert comparable(written_again(theirs, tmp_path / "session.jsonl")) == comparable(theirs)


def test_the_comparison_sees_a_key_that_moved_and_a_line_that_follows_another(tmp_path: Path) -> None:
    theirs = recorded("tools.jsonl")
    moved = [dict(reversed(line.items())) for line in theirs]
    assert comparable(moved) != comparable(theirs)
    relinked = [line | {"parentUuid": None} if line["type"] == "assistant" else line for line in theirs]
    assert comparable(relinked) != comparable(theirs)


def test_parallel_calls_have_the_parents_that_claude_code_gives_them(tmp_path: Path) -> None:
    theirs = recorded("compacted.jsonl")
    begin = next(at for at, line in enumerate(theirs) if line.get("content") == "use tools")
    end = next(at for at, line in enumerate(theirs) if line["type"] == "last-prompt" and at > begin)
    part = [line | {"parentUuid": None} if "permissionMode" in line else line for line in theirs[begin : end + 1]]
    assert comparable(written_again(part, tmp_path / "session.jsonl")) == comparable(part)


def test_a_summary_is_marked_as_claude_code_marks_it(tmp_path: Path) -> None:
    theirs = recorded("compacted.jsonl")
    at = next(at for at, line in enumerate(theirs) if line.get("subtype") == "compact_boundary")
    boundary, summary = theirs[at : at + 2]
    session = Session(origin_of(boundary), tmp_path / "session.jsonl")
    session.prompt("before", permission_mode="default", uuid=boundary["logicalParentUuid"])
    session.flush()
    begun = len(lines_in(tmp_path / "session.jsonl"))
    session.prompt_id = summary["promptId"]
    metadata = msgspec.convert(boundary["compactMetadata"], CompactMetadata)
    session.add_summary(metadata, summary["message"]["content"], boundary=boundary["uuid"], anchor=summary["uuid"])
    session.flush()
    ours = lines_in(tmp_path / "session.jsonl")[begun:]
    assert comparable(ours) == comparable([boundary, summary])


def test_the_title_comes_first(tmp_path: Path) -> None:
    theirs = recorded("forked.jsonl")[:2]
    ours = map(transcript_entries.encode, transcript_entries.titles("my title", session_id=theirs[0]["sessionId"]))
    assert comparable([json.loads(line) for line in ours]) == comparable(theirs)


def test_the_usage_of_an_answer_has_every_field_in_its_order() -> None:
    theirs: dict[str, Any] = recorded("tools.jsonl")[5]["message"]["usage"]
    sent = {
        "input_tokens": 100,
        "output_tokens": 20,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "service_tier": None,
    }
    assert json.dumps(transcript_entries.full_usage(sent)) == json.dumps(theirs)
    assert transcript_entries.full_usage({"input_tokens": 1, "new_field": 2})["new_field"] == 2


def test_a_lone_surrogate_does_not_break_the_file() -> None:
    line = {"type": "user", "message": {"role": "user", "content": "a\ud83d b é"}}
    data = transcript_entries.encode_json(line)
    assert data.endswith(b"\n")
    assert json.loads(data.decode("utf-8")) == line
