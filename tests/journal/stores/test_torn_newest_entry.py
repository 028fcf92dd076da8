"""Nothing is appended to a journal whose newest entry is invalid, also if the pack has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import layout
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
