"""Nothing is appended to a journal whose newest entry is invalid, also if the pack has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.journal_writes import append, new_run
from tests.journal.fixtures.recorded_samples import contents


@pytest.mark.parametrize("text", [b"", b"{", b'{"type": "BRIDLE_X"}\n'])
def test_nothing_is_appended_after_an_invalid_entry(tmp_path: Path, text: bytes) -> None:
    run = new_run(tmp_path)
    max((run / layout.JOURNAL).iterdir()).write_bytes(text)
    before = contents(run / layout.JOURNAL)
    with pytest.raises(JournalBroken, match="is invalid"):
        append(run)
    assert run_bridle("run:halt", run, "--reason", "x").returncode == 1
    assert contents(run / layout.JOURNAL) == before


def test_a_writer_that_finds_an_invalid_entry_releases_the_lock(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    newest = max((run / layout.JOURNAL).iterdir())
    text = newest.read_bytes()
    newest.write_bytes(b"{")
    refused = FileStore(run).write("test")
    with pytest.raises(JournalBroken, match="is invalid"):
        refused.__enter__()
    newest.write_bytes(text)
    with FileStore(run).write("test", wait_seconds=0) as writer:
        assert writer.append("BRIDLE_X", {}).seq == 5
