"""The note that a run has left its work uncommitted."""

from __future__ import annotations

from pathlib import Path

from bridle.loop.working_copy import uncommitted_note


def test_a_note_is_there_from_when_it_is_written_until_it_is_removed(tmp_path: Path) -> None:
    assert not uncommitted_note.exists(tmp_path)
    uncommitted_note.write(tmp_path, "bridle/run")
    assert uncommitted_note.exists(tmp_path)
    for _ in range(2):
        uncommitted_note.remove(tmp_path)
        assert not uncommitted_note.exists(tmp_path)
