"""A driver believes what it has recorded itself; the next one compares the files with the journal."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.loop.working_copy.run_records import RunRecords


def test_what_the_driver_wrote_or_read_first_counts_and_is_restored(tmp_path: Path) -> None:
    records, path, absent = RunRecords(), tmp_path / "bridle-x.json", tmp_path / "bridle-y.json"
    records.write_json(path, ["mine"], None)
    written = records.time_of(path)
    assert records.read(absent, None) is None
    path.write_text("[]")
    os.utime(path, (1, 1))
    absent.write_text('["planted"]')
    assert (records.read_json(path, None), records.read(absent, None)) == (["mine"], None)
    assert sorted(records.restore_changed()) == [path, absent]
    assert path.read_text() == '[\n  "mine"\n]\n'
    assert records.time_of(path) == written
    assert abs(path.stat().st_mtime - (written or 0)) < 1
    assert not absent.exists()
    path.unlink()
    path.mkdir()
    (path / "in the way").touch()
    assert records.restore_changed() == [path]
    assert records.restore_changed() == []


def test_the_next_driver_refuses_a_file_that_the_journal_has_otherwise(tmp_path: Path) -> None:
    path, first = tmp_path / "bridle-x.json", RunRecords()
    first.write(path, b"1", None)
    digests = first.take_new(None)
    assert digests == {path: hashlib.sha256(b"1").hexdigest()}
    second = RunRecords()
    second.expect({path: [digests[path]]})
    assert second.read(path, None) == b"1"
    assert second.take_new(None) == {}, "the journal has it"
    for change in (lambda: path.write_bytes(b"2"), path.unlink):
        change()
        later = RunRecords()
        later.expect({path: [digests[path]]})
        with pytest.raises(JournalBroken, match="was changed or removed"):
            later.read(path, None)


def test_the_journal_has_the_digest_of_a_record_before_it_is_written_again(tmp_path: Path) -> None:
    path, first = tmp_path / "bridle-x.json", RunRecords()
    first.write(path, b"1", None)
    digests = {name: [digest] for name, digest in first.take_new(None).items()}
    announced: list[str] = []

    def announce(name: Path, digest: str) -> None:
        assert (name, path.read_bytes()) == (path, b"1")
        announced.append(digest)

    second = RunRecords()
    second.expect(digests, announce)
    for data in (b"1", b"2", b"2"):
        second.write(path, data, None)
    assert announced == [hashlib.sha256(b"2").hexdigest()]
    for data in (b"1", b"2"):  # killed before it was written, or before a result had it
        path.write_bytes(data)
        later = RunRecords()
        later.expect({path: [*digests[path], *announced]})
        assert later.read(path, None) == data
        assert set(later.take_new(None)) == {path}, "the next result has it"


def test_a_result_has_the_digests_of_its_worker_and_earlier_iterations_are_forgotten(tmp_path: Path) -> None:
    records = RunRecords()
    paths = [tmp_path / "programs" / name for name in ("a", "b", "c")]
    for path, worker in zip(paths, (1, 2, 1), strict=True):
        records.write(path, b"", worker)
    records.keep_only(paths[2], 1)
    for path in paths:
        path.write_bytes(b"changed")
    assert records.restore_changed() == [paths[1], paths[2]]
    assert set(records.take_new(1)) == {paths[0], paths[2]}
    assert set(records.take_new(2)) == {paths[1]}
    with pytest.raises(JournalBroken):
        records.read(paths[0], 1)


def test_missing_records_of_earlier_iterations_are_forgotten_too(tmp_path: Path) -> None:
    records = RunRecords()
    paths = [tmp_path / "programs" / f"{number}.json" for number in range(3)]
    for path in paths:
        assert records.read(path, 1) is None
    records.keep_only(paths[2], 1)
    paths[0].parent.mkdir()
    for path in paths:
        path.write_text("planted")
    assert records.restore_changed() == [paths[2]]
