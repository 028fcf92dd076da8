"""What survives: every order of syncs and renames, a power cut at every moment, a kill at every named point."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from bridle.journal.format import layout
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_reader import FileReader
from tests.journal.fixtures.disk_recorder import Change, watch
from tests.journal.fixtures.entry_steps import MOMENT, ids
from tests.journal.fixtures.journal_checks import assert_intact, summary, write_again
from tests.journal.fixtures.journal_writes import WRITES, Write, append, ask, new_run, post
from tests.journal.fixtures.power_loss_disk import PowerLossDisk, restore
from tests.journal.fixtures.recorded_samples import contents
from tests.sizes import SIZES


def nothing(change: Change) -> None:
    """A listener that only lets everything pass."""


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_the_recorder_sees_everything_that_is_written(write: Write, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    disk = PowerLossDisk.of(tmp_path)
    with watch(nothing) as changes:
        write(run)
    for change in changes:
        disk.take(change)
    seen = {str(path): None if path.is_dir() else path.read_bytes() for path in tmp_path.rglob("*")}
    assert disk.as_seen() == seen


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_an_entry_is_synced_before_its_rename_and_the_folder_after_it(write: Write, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with watch(nothing) as changes:
        write(run)
    entries = entry_renames(run, changes)
    assert entries
    for index in [*entries, *(i for i, change in enumerate(changes) if change.target.endswith("output.json"))]:
        change = changes[index]
        written = max(
            i for i, one in enumerate(changes[:index]) if one.operation == "write" and one.path == change.path
        )
        assert Change("sync", change.path) in changes[written:index], f"{change} came before its content was safe"
        later = changes[index + 1 :]
        folder = Change("sync", os.path.dirname(change.target))
        assert folder in later, f"the folder was not synced after {change}"
        # Nothing else becomes visible before this name is safe.
        assert not [one for one in later[: later.index(folder)] if one.operation == "rename"]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_all_that_was_written_before_an_entry_is_safe_when_it_gets_its_name(write: Write, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with watch(nothing) as changes:
        write(run)
    entries = entry_renames(run, changes)
    for index, change in enumerate(changes):
        path = change.target or change.path
        entry = next((i for i in entries if i > index), None)
        if entry is None or index in entries or path.startswith(str(run / layout.STATE)) or path.endswith(".lock"):
            continue
        before_entry = changes[index:entry]
        if change.operation in ("mkdir", "rename"):
            assert Change("sync", os.path.dirname(path)) in before_entry, f"{change} is not safe"
        if change.operation == "write" and path.startswith(str(run)):
            names = {path, *(one.target for one in before_entry if one.operation == "rename" and one.path == path)}
            assert any(Change("sync", name) in before_entry for name in names), f"{path} is not safe"


def entry_renames(run: Path, changes: list[Change]) -> list[int]:
    """Return which changes give an entry its name."""
    journal = str(run / layout.JOURNAL)
    return [i for i, one in enumerate(changes) if one.operation == "rename" and one.target.startswith(journal)]


def test_an_entry_is_in_the_journal_only_after_the_files_it_names(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with watch(nothing) as changes:
        post(run)
        ask(run)
    order = [Path(change.target).parent.name for change in changes if change.operation == "rename"]
    in_order = [name for name in order if name != layout.STATE]
    assert [name == layout.JOURNAL for name in in_order] == [False, True, False, True]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_power_cut_at_any_moment_loses_nothing_that_was_acknowledged(write: Write, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    before = [entry.ulid for entry in FileReader(run).entries()]
    disk = PowerLossDisk.of(tmp_path)
    with watch(nothing) as changes:
        write(run)
    expected = summary(run)
    first = next(i for i, change in enumerate(changes) if change.operation == "rename")
    cuts = 0
    for moment in range(len(changes) + 1):
        is_done = moment == len(changes)
        for chance in chances():
            restore(tmp_path, disk.after_power_cut(chance), disk.moments)
            assert_intact(run, before, done=is_done)
            if moment == first or is_done or chance is None:
                write_again(write, run)
                assert summary(run) == expected
            cuts += 1
        if not is_done:
            disk.take(changes[moment])
    assert cuts == (len(changes) + 1) * (SIZES.power_cuts_at_each_moment + 1)


def chances() -> list[Random | None]:
    """Everything loose is forgotten; and then each part of it by chance."""
    seeds = range(SIZES.power_cuts_at_each_moment)
    return [None, *(Random(seed) for seed in seeds)]  # noqa: S311  # the same cuts every time


def test_a_power_cut_leaves_a_new_run_whole_or_not_at_all(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py", has_inputs=True, inputs={"a": 1})
    disk = PowerLossDisk.of(tmp_path)
    with watch(nothing) as changes:
        create_run(runs, new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    whole = contents(runs / "r")
    found = set()
    for moment in range(len(changes) + 1):
        for chance in chances():
            tree = disk.after_power_cut(chance)
            restore(tmp_path, tree, disk.moments)
            exists = os.path.lexists(runs / "r")
            assert not exists or contents(runs / "r") == whole
            found.add(exists)
            if moment == len(changes):
                assert exists
        if moment < len(changes):
            disk.take(changes[moment])
    assert found == {False, True}


def test_the_model_of_a_power_cut_would_see_a_missing_sync(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    disk = PowerLossDisk.of(tmp_path)
    with watch(nothing) as changes:
        append(run)
    journal = str(run / layout.JOURNAL)
    unsafe = [change for change in changes if change != Change("sync", journal)]
    for change in unsafe:
        disk.take(change)
    restore(tmp_path, disk.after_power_cut(None), disk.moments)
    assert FileReader(run).position().seq == 4, "the entry should have been forgotten"
