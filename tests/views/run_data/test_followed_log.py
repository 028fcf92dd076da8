"""A log that grows: every reader sees the same items at the same offsets, whenever and however it began to read."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from bridle.views.run_data.conversation_pages import Conversation
from bridle.views.run_data.followed_log import FollowedLog
from bridle.wire.dialects.dialect_table import AGENTS
from bridle.wire.mask import Mask

RECORDINGS = sorted((Path(__file__).parents[2] / "recordings").glob("*/*.ndjson"))
ENDED = {"agent": "claude", "ended": "2026-01-01T00:00:00Z", "exit_code": 0}


def agent_of(recording: Path) -> str:
    name = recording.parent.name.partition("-")[0]
    return name if name in AGENTS else "claude"


def whole(path: Path, agent: str) -> list[dict[str, object]]:
    """Return all items of all threads of a log that has ended."""
    log = FollowedLog(path, agent, Mask())
    while log.read_new():
        pass
    return all_items(log)


def all_items(log: FollowedLog) -> list[dict[str, object]]:
    conversation = Conversation(log, Mask(), 0.0, "")
    return [conversation.item(item) for thread in log.transcript.threads for item in log.transcript.items(thread)]


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_log_in_pieces_has_the_same_items_and_offsets_as_the_whole(tmp_path: Path, recording: Path) -> None:
    data, agent = recording.read_bytes(), agent_of(recording)
    path = tmp_path / "a.ndjson"
    meta = tmp_path / "a.meta.json"
    meta.write_text(json.dumps({"agent": agent, "pid": os.getpid()}))
    log, held, position = FollowedLog(path, agent, Mask()), dict[int, dict[str, object]](), 0
    chance = random.Random(len(data))  # noqa: S311  # the same pieces in every run
    path.touch()
    start = 0
    while start < len(data):
        end = min(len(data), start + chance.choice((1, 7, 300, 5000, 100_000)))
        with path.open("ab") as file:
            file.write(data[start:end])
        start = end
        log.read_new()
        changes = Conversation(log, Mask(), 0.0, "").changes_after(position)
        position = take(held, changes, position)
    meta.write_text(json.dumps({**ENDED, "agent": agent}))
    while log.read_new():
        pass
    take(held, Conversation(log, Mask(), 0.0, "").changes_after(position), position)
    late = whole(path, agent)
    assert all_items(log) == late
    by_id = {item["id"]: item for item in late}
    # Only the places in the thread may be old: an item before it was removed.
    assert {number: {**item, "index": 0} for number, item in held.items()} == {
        number: {**item, "index": 0} for number, item in by_id.items()
    }


def take(held: dict[int, dict[str, object]], changes: dict[str, object] | None, position: int) -> int:
    """Do what a page does with changes; return how far it is now."""
    if changes is None:
        return position
    items, removed, after = changes["items"], changes["removed"], changes["position"]
    assert isinstance(items, list)
    assert isinstance(removed, list)
    assert isinstance(after, int)
    held |= {item["id"]: item for item in items}
    for item_id in removed:
        held.pop(item_id, None)
    return after


def test_changes_after_an_offset_are_those_of_later_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    lines = [
        {"type": "assistant", "message": {"id": "m", "content": [{"type": "tool_use", "id": f"t{n}", "name": "Bash"}]}}
        for n in range(3)
    ]
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t0", "content": "x"}]}}
    texts = [json.dumps(line) + "\n" for line in (*lines, result)]
    path.write_text("".join(texts))
    (tmp_path / "a.meta.json").write_text(json.dumps({"agent": "claude", "pid": os.getpid()}))
    log = FollowedLog(path, "claude", Mask())
    log.read_new()
    ends = [len("".join(texts[: number + 1])) for number in range(4)]
    assert log.position == ends[3]
    assert log.changed_after(0) == [1, 2, 3]
    assert log.changed_after(ends[1]) == [1, 3]
    assert log.changed_after(ends[2]) == [1]
    assert log.changed_after(ends[3]) == []
    assert [json.loads(line)["type"] for line in log.raw_lines(1, 1000)] == ["assistant", "user"]
    log.close()


def test_what_has_no_time_yet_waits_for_it(tmp_path: Path) -> None:
    """The writer adds the time after the bytes: an early reader must not see an item without its time."""
    path = tmp_path / "a.ndjson"
    line = json.dumps({"type": "assistant", "message": {"content": [{"type": "text", "text": "x"}]}}) + "\n"
    path.write_text(line)
    (tmp_path / "a.times").write_text("")
    (tmp_path / "a.meta.json").write_text(json.dumps({"agent": "claude", "pid": os.getpid()}))
    log = FollowedLog(path, "claude", Mask())
    log.read_new()
    assert log.transcript.items() == ()
    (tmp_path / "a.times").write_text(f"{len(line)} 1500\n")
    log.read_new()
    assert [item.at for item in log.transcript.items()] == [1.5]
    log.close()


def test_a_missing_or_empty_log_is_an_empty_conversation(tmp_path: Path) -> None:
    log = FollowedLog(tmp_path / "a.ndjson", "claude", Mask())
    (tmp_path / "a.meta.json").write_text(json.dumps({"agent": "claude", "pid": os.getpid()}))
    assert log.read_new() is False
    assert log.has_new() is False
    assert log.position == 0
