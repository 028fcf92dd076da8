"""Two entries whose contents were exchanged are noticed without the pack: an entry is never newer than its id."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.ground.light.moments import iso
from bridle.ground.ulid import milliseconds_of
from bridle.journal.format import codec, layout
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.entry_steps import ids, ok
from tests.journal.fixtures.journal_writes import append, new_run


def posted_run(folder: Path) -> tuple[Path, Path, Path]:
    """Return a run with two results that are at least a millisecond apart, and the files of their entries."""
    run = new_run(folder)
    first = max((run / layout.JOURNAL).iterdir())
    moment = iso(milliseconds_of(first.name.split(".")[1]) * 1_000_000)
    for _ in range(1000):
        if list(FileReader(run).entries())[-1].recorded_at > moment:
            break
        append(run)
    else:
        raise AssertionError("the clock was put back")
    with FileStore(run).write("test") as writer:
        writer.resolve("E2", ok("two"))
    return run, first, max((run / layout.JOURNAL).iterdir())


def test_exchanged_results_are_refused_by_the_name_of_the_file(tmp_path: Path) -> None:
    run, first, second = posted_run(tmp_path)
    one, two = first.read_bytes(), second.read_bytes()
    first.write_bytes(two)
    second.write_bytes(one)
    (run / layout.STATE / layout.PACK_FILE).unlink()
    for read in (FileReader(run).position, FileReader(run).state, lambda: append(run)):
        with pytest.raises(JournalBroken, match="its content is that of a later entry") as caught:
            read()
        assert str(first) in caught.value.message
    audited = run_bridle("audit", run)
    assert audited.returncode == 1
    assert f"journal/{first.name}" in audited.stdout


def test_an_entry_of_another_program_may_be_newer_than_its_id() -> None:
    ulid = ids(1)[0]
    later = iso((milliseconds_of(ulid) + 2) * 1_000_000)
    assert codec.decode(2, ulid, codec.encode("EFFECT_RESOLVED", later, {"effectId": "E"})).recorded_at == later
    with pytest.raises(codec.BadText, match="a later entry"):
        codec.decode(2, ulid, codec.encode("EFFECT_RESOLVED", later, {"effectId": "E", layout.RESULT_DIGEST: "0"}))
    far_ahead = "7" + "Z" * 25
    assert codec.decode(2, far_ahead, codec.encode("BRIDLE_X", later, {})).ulid == far_ahead


def test_an_entry_that_was_encoded_before_the_clock_was_set_back_gets_no_older_id(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    ahead_ns = 4_000_000_000_000_000_000
    with FileStore(run).write("test") as writer:
        assert milliseconds_of(writer.new_id(not_before_ns=ahead_ns)) == ahead_ns // 1_000_000
