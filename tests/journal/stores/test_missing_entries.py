"""The newest entries were removed, and the pack has them: every command refuses the run, and nothing is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import layout
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.journal_writes import append, new_run
from tests.journal.fixtures.recorded_samples import contents

READERS = ("run:status", "run:iterate", "run:halt", "run:rebuild-state", "replay", "drive", "task:list")


def newest(run: Path) -> Path:
    return max((run / layout.JOURNAL).iterdir())


def without_locks(run: Path) -> dict[str, bytes]:
    return {name: text for name, text in contents(run).items() if "lock" not in name}


def test_every_command_misses_removed_entries_and_a_repair_restores_them(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    whole = contents(run / layout.JOURNAL)
    for _ in range(2):
        removed = newest(run)
        removed.unlink()
    before = without_locks(run)
    for command in READERS:
        done = run_bridle(command, run, *(["--reason", "x"] if command == "run:halt" else []))
        assert (done.returncode, done.stdout) == (1, ""), command
        assert f"{removed} is invalid: it is missing" in done.stderr, command
        assert "run:repair-journal" in done.stderr, command
    audited = run_bridle("audit", run)
    assert audited.returncode == 1
    assert f"journal/{removed.name}" in audited.stdout
    assert without_locks(run) == before
    repaired = json.loads(run_bridle("run:repair-journal", run, "--json").stdout)
    assert (repaired["repaired"], len(repaired["restored"]), repaired["missing"]) == (True, 2, [])
    assert contents(run / layout.JOURNAL) == whole
    assert json.loads(run_bridle("run:repair-journal", run, "--json").stdout)["repaired"] is False


@pytest.mark.parametrize("count", [1, 4])
def test_one_removed_entry_and_all_of_them_are_missed(tmp_path: Path, count: int) -> None:
    run = new_run(tmp_path)
    for _ in range(count):
        newest(run).unlink()
    for read in (FileReader(run).position, FileReader(run).state, lambda: append(run)):
        with pytest.raises(JournalBroken, match="it is missing"):
            read()


def test_a_removed_entry_that_is_too_large_for_the_pack_is_missed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_X", {"text": "x" * 100_000})
    newest(run).unlink()
    for read in (FileReader(run).position, FileReader(run).state, lambda: append(run)):
        with pytest.raises(JournalBroken, match="it is missing"):
            read()
