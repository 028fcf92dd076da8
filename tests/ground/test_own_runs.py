"""The record of the runs that the user has begun: by id, for each folder; nobody else's run is in it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bridle.ground import own_runs


def make_run(folder: Path, run_id: str = "r1", content: str = "") -> Path:
    run = folder / ".a5c/runs" / run_id
    run.mkdir(parents=True)
    (run / "run.json").write_text(content or str(folder))
    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_runs_of_one_id_in_several_folders_are_all_the_users(tmp_path: Path, home: Path) -> None:
    runs = [make_run(tmp_path / place) for place in ("one", "one/part", "two")]
    for run in runs:
        own_runs.record(run, home)
    assert all(own_runs.is_recorded(run, home) for run in runs)
    foreign = make_run(tmp_path / "foreign")
    assert not own_runs.is_recorded(foreign, home)
    assert not own_runs.is_recorded(make_run(tmp_path / "three", "r2", content=str(tmp_path / "one")), home)


def test_a_renamed_repository_keeps_its_run_when_the_id_is_used_again(tmp_path: Path, home: Path) -> None:
    own_runs.record(make_run(tmp_path / "old"), home)
    (tmp_path / "old").rename(tmp_path / "new")
    own_runs.record(make_run(tmp_path / "old", content="another"), home)
    shutil.copytree(tmp_path / "new", tmp_path / "copy")
    for place in ("old", "new", "copy"):
        assert own_runs.is_recorded(tmp_path / place / ".a5c/runs/r1", home)
    (tmp_path / "new/.a5c/runs/r1/run.json").write_text("changed")
    assert not own_runs.is_recorded(tmp_path / "new/.a5c/runs/r1", home)


def test_a_record_of_the_earlier_form_counts(tmp_path: Path, home: Path) -> None:
    run = make_run(tmp_path / "one")
    own_runs.record(run, home)
    record = home / own_runs.FOLDER / "r1"
    record.write_bytes(record.read_bytes().partition(b" ")[0])
    own_runs.record(make_run(tmp_path / "two"), home)
    assert own_runs.is_recorded(run, home)


def test_records_that_are_written_at_once_are_all_kept(tmp_path: Path, home: Path) -> None:
    runs = [make_run(tmp_path / f"n{number}") for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda run: own_runs.record(run, home), runs))
    assert all(own_runs.is_recorded(run, home) for run in runs)


def test_an_id_that_is_used_without_end_keeps_a_small_record(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_runs, "_SAME_ID", 3)
    runs = [make_run(tmp_path / f"n{number}") for number in range(5)]
    for run in runs:
        own_runs.record(run, home)
    assert [own_runs.is_recorded(run, home) for run in runs] == [False, False, True, True, True]


def test_the_runs_below_a_folder_are_found(tmp_path: Path, home: Path) -> None:
    top, part, odd, beside = (make_run(tmp_path / place) for place in ("one", "one/part", "one/a\nb", "one-more"))
    for run in (top, part, odd, beside):
        own_runs.record(run, home)
    assert own_runs.is_recorded(odd, home)
    assert own_runs.begun_below(tmp_path / "one", home) == [part, top]
    shutil.rmtree(part)
    assert own_runs.begun_below(tmp_path / "one", home) == [top]
    assert own_runs.begun_below(tmp_path / "one", tmp_path / "no home") == []
