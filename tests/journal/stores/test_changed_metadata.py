"""A run.json that was changed after the run was created is refused by whatever reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import codec, layout
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.journal_writes import append, new_run
from tests.journal.fixtures.recorded_samples import contents
from tests.journal.fixtures.run_metadata import change_metadata

CHANGES = {"nonInteractive": True, "completionProof": "deadbeef", "request": "another", "layoutVersion": "1"}
READERS = ("run:status", "run:iterate", "run:halt", "run:rebuild-state", "replay", "drive", "task:list")


def change(run: Path, **fields: object) -> Path:
    path = run / layout.RUN_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | fields, indent=2) + "\n")
    return path


def without_digest(run: Path) -> None:
    """Make the journal one of an implementation that records no digest."""
    first = min((run / layout.JOURNAL).iterdir())
    entry = codec.decode(1, "", first.read_bytes())
    data = {name: value for name, value in entry.data.items() if name != layout.RUN_DIGEST}
    first.write_bytes(codec.encode(entry.type, entry.recorded_at, data))
    (run / layout.STATE / layout.PACK_FILE).unlink()


@pytest.mark.parametrize("has_pack", [True, False])
@pytest.mark.parametrize("field", CHANGES)
def test_a_changed_run_file_is_refused_by_name_and_nothing_is_written(
    tmp_path: Path, field: str, has_pack: bool
) -> None:
    run = new_run(tmp_path)
    if not has_pack:
        (run / layout.STATE / layout.PACK_FILE).unlink()
    path = change(run, **{field: CHANGES[field]})
    before = contents(run)
    for read in (FileReader(run).metadata, FileReader(run).position, FileReader(run).state, lambda: append(run)):
        with pytest.raises(JournalBroken, match="it was changed after it was written") as caught:
            read()
        assert str(path) in caught.value.message
    assert contents(run) == before


def test_every_command_refuses_a_changed_run_file(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    path = change(run, completionProof="deadbeef")
    for command in READERS:
        more = ["--reason", "x"] if command == "run:halt" else []
        done = run_bridle(command, run, *more)
        assert (done.returncode, done.stdout) == (1, ""), command
        assert str(path) in done.stderr, command
    for command in ("run:events", "run:repair-journal"):
        assert run_bridle(command, run).returncode == 0


def test_a_run_whose_journal_has_no_digest_still_works(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    without_digest(run)
    change(run, request="another")
    append(run)
    assert FileReader(run).metadata().document["request"] == "another"
    assert FileStore(run).position().seq == 5


def test_a_first_entry_that_is_long_is_found(tmp_path: Path) -> None:
    for characters in (6_000, 100_000):
        folder = tmp_path / str(characters)
        run = new_run(folder)
        first = min((run / layout.JOURNAL).iterdir())
        entry = codec.decode(1, "", first.read_bytes())
        first.write_bytes(codec.encode(entry.type, entry.recorded_at, {**entry.data, "prompt": "x" * characters}))
        (run / layout.STATE / layout.PACK_FILE).unlink()
        append(run)
        assert FileReader(run).metadata().run_id == "r"
        change(run, request="another")
        with pytest.raises(JournalBroken):
            FileReader(run).metadata()


def test_the_pack_of_another_journal_does_not_decide(tmp_path: Path) -> None:
    run, other = new_run(tmp_path / "one"), new_run(tmp_path / "two")
    change_metadata(other, request="another")
    append(other)
    pack = f"{layout.STATE}/{layout.PACK_FILE}"
    (run / pack).write_bytes((other / pack).read_bytes())
    assert FileReader(run).metadata().document["request"] == "demo"
