"""Events with the lines of a transcript: complete, in order, and none too long for a host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bridle.agent.sessions.session import Session
from bridle.agent.sessions.transcript_entries import Origin
from bridle.agent.stdio.transcript_mirror import mirror, mirror_events

PATH = Path("/home/x/s.jsonl")


def lines(*sizes: int) -> bytes:
    return b"".join(json.dumps({"n": n, "text": "x" * size}).encode() + b"\n" for n, size in enumerate(sizes))


def entries(events: list[bytes]) -> list[dict[str, Any]]:
    return [entry for event in events for entry in json.loads(event)["entries"]]


def test_an_event_names_the_file_and_has_its_lines() -> None:
    [event] = mirror_events(PATH, lines(3, 4))
    assert event.endswith(b"\n")
    assert json.loads(event) == {
        "type": "transcript_mirror",
        "filePath": "/home/x/s.jsonl",
        "entries": [{"n": 0, "text": "xxx"}, {"n": 1, "text": "xxxx"}],
    }


def test_many_lines_are_split_into_events_below_the_limit() -> None:
    events = list(mirror_events(PATH, lines(*[300] * 20), limit_bytes=1000))
    assert len(events) > 1
    assert max(map(len, events)) <= 1000
    assert [entry["n"] for entry in entries(events)] == list(range(20))


def test_of_a_line_that_is_too_long_for_an_event_the_middle_of_long_texts_is_left_out() -> None:
    events = list(mirror_events(PATH, lines(5, 3_000_000, 5)))
    assert max(map(len, events)) < 900 * 1024
    found = entries(events)
    assert [entry["n"] for entry in found] == [0, 1, 2]
    assert "characters left out here" in found[1]["text"]


def test_all_that_a_session_writes_is_printed(tmp_path: Path) -> None:
    session = Session(Origin(session_id="s", cwd="/project", version="2.1.197"), tmp_path / "s.jsonl")
    events: list[bytes] = []
    session.on_written = mirror(events.append)
    session.prompt("one", permission_mode="default")
    session.flush()
    session.prompt("two", permission_mode="default")
    session.close()
    assert entries(events) == [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
