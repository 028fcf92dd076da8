"""A run that was created without inputs refuses an inputs.json that was added later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import codec, layout
from bridle.journal.stores.file_reader import FileReader
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.journal_writes import new_run

PROCESS = "async def process(inputs, ctx):\n    return {'inputs': inputs}\n"


def test_every_command_refuses_added_inputs(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROCESS, encoding="utf-8")
    runs = ["--runs-dir", str(tmp_path / "runs")]
    made = run_bridle("run:create", "--process-id", "p", "--entry", tmp_path / "p.py", "--run-id", "r", *runs, "--json")
    assert made.returncode == 0, made.stderr
    run = tmp_path / "runs" / "r"
    (run / layout.INPUTS_FILE).write_text('{"amount": 1000}\n', encoding="utf-8")
    for command in ("run:status", "run:iterate", "run:rebuild-state", "replay", "drive"):
        done = run_bridle(command, run)
        assert done.returncode == 1, command
        assert f"{run / layout.INPUTS_FILE} of this run is invalid: it was added after" in done.stderr, command
    audited = run_bridle("audit", run)
    assert audited.returncode == 1
    assert f"{layout.INPUTS_FILE}: it was added after the run was created without inputs" in audited.stdout
    (run / layout.INPUTS_FILE).unlink()
    assert json.loads(run_bridle("run:iterate", run, "--json").stdout)["status"] == "completed"
    assert run_bridle("audit", run).returncode == 0


def test_inputs_of_a_run_that_records_no_digest_are_accepted(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    first = min((run / layout.JOURNAL).iterdir())
    entry = next(FileReader(run).entries())
    (run / layout.INPUTS_FILE).write_text("1\n", encoding="utf-8")
    with pytest.raises(JournalBroken, match="it was added"):
        FileReader(run).inputs(entry)
    data = {name: value for name, value in entry.data.items() if name != layout.INPUTS_DIGEST}
    first.write_bytes(codec.encode(entry.type, entry.recorded_at, data))
    assert FileReader(run).inputs(next(FileReader(run).entries())) == 1
