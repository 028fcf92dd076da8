"""A reader that remembers what it has read of a log returns the same as one that reads all of it."""

from __future__ import annotations

import json
from pathlib import Path

from bridle.run.read_log import LogReader, read_log

RECORDING = Path(__file__).parents[1] / "recordings/claude-2.1.197"


def test_a_growing_log_is_read_as_a_whole_one(tmp_path: Path) -> None:
    data = next(iter(sorted(RECORDING.glob("*.ndjson")))).read_bytes()
    log, read = tmp_path / "a.ndjson", LogReader()
    (tmp_path / "a.meta.json").write_text(json.dumps({"agent": "claude"}))
    log.touch()
    for start in range(0, len(data), 4001):
        with log.open("ab") as file:
            file.write(data[start : start + 4001])
        complete = data[: start + 4001].rpartition(b"\n")[0]
        (tmp_path / "b.ndjson").write_bytes(complete + b"\n" if complete else b"")
        (tmp_path / "b.meta.json").write_text(json.dumps({"agent": "claude"}))
        assert read(log).cost == read_log(tmp_path / "b.ndjson").cost
        assert read(log).record.events == read_log(tmp_path / "b.ndjson").record.events


def test_a_log_that_was_replaced_is_read_from_its_start(tmp_path: Path) -> None:
    log, read = tmp_path / "a.ndjson", LogReader()
    line = json.dumps({"type": "system", "subtype": "init", "session_id": "s"}) + "\n"
    log.write_text(line * 3)
    assert read(log).record.events == 3
    log.write_text(line)
    assert read(log).record.events == 1
    log.write_text(line * 2)
    assert read(log).record.events == 2
