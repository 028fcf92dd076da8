"""A broken journal is named, still listed, and mended with a backup; nothing that was whole is lost."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.errors import JournalBroken, RunNotFound
from bridle.journal.format import codec, layout
from bridle.journal.format.state import file_name
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from bridle.journal.upkeep import repair
from bridle.journal.upkeep.audit import audit
from tests.fixtures.bridle_program import run_bridle
from tests.journal.fixtures.disk_recorder import Change, watch
from tests.journal.fixtures.entry_steps import make_request, ok, request_data
from tests.journal.fixtures.journal_writes import append, new_run, post
from tests.journal.fixtures.recorded_samples import contents
from tests.journal.fixtures.sample_runs import LongRun, long_run

Harm = Callable[[LongRun], str]


def entry_file(run: Path, seq: int) -> Path:
    return next((run / layout.JOURNAL).glob(f"{seq:06d}.*"))


def empty(made: LongRun) -> str:
    path = entry_file(made.run, 4)
    path.write_bytes(b"")
    return path.name


def torn(made: LongRun) -> str:
    path = entry_file(made.run, 4)
    path.write_bytes(path.read_bytes()[:100])
    return path.name


def changed(made: LongRun) -> str:
    path = entry_file(made.run, 4)
    path.write_bytes(path.read_bytes().replace(b"work 1", b"evil 1"))
    return path.name


def missing(made: LongRun) -> str:
    entry_file(made.run, 4).unlink()
    return entry_file(made.run, 5).name


def foreign(made: LongRun) -> str:
    (made.run / layout.JOURNAL / "notes.json").write_text("{}", encoding="utf-8")
    return "notes.json"


def doubled(made: LongRun) -> str:
    text = codec.encode("STOP_HOOK_INVOKED", "2026-11-15T00:00:00.000Z", {"sessionId": "s"})
    path = made.run / layout.JOURNAL / file_name(4, made.new_id())
    path.write_bytes(text)
    return path.name


def backwards(made: LongRun) -> str:
    path = entry_file(made.run, made.seq)
    early = path.with_name(file_name(made.seq, "0" * 26))
    path.rename(early)
    return early.name


def same_key(made: LongRun) -> str:
    key = FileReader(made.run).state().pending[0].key
    entry = made.append("EFFECT_REQUESTED", request_data("again", key=key))
    made.append("EFFECT_RESOLVED", {"effectId": "again", "status": "ok", "resultRef": "x"})
    return file_name(entry.seq, entry.ulid)


def nobodys(made: LongRun) -> str:
    entry = made.append("EFFECT_RESOLVED", {"effectId": "nobody", "status": "ok", "resultRef": "x"})
    return file_name(entry.seq, entry.ulid)


HARMS: dict[str, tuple[Harm, dict[str, int]]] = {
    "empty file": (empty, {"kept": -2, "corrupt": 1, "resolved": 1}),
    "torn file": (torn, {"kept": -2, "corrupt": 1, "resolved": 1}),
    "changed file": (changed, {"kept": -2, "corrupt": 1, "resolved": 1}),
    "missing file": (missing, {"kept": -2, "resolved": 1, "files": -1}),
    "foreign file": (foreign, {"corrupt": 1, "files": 1}),
    "doubled number": (doubled, {"kept": 1, "files": 1}),
    "id that falls": (backwards, {}),
    "key used twice": (same_key, {"requested": 1, "resolved": 1, "files": 2}),
    "result for nobody": (nobodys, {"resolved": 1, "files": 1}),
}


@pytest.mark.parametrize(("harm", "counts"), HARMS.values(), ids=HARMS)
def test_a_broken_journal_is_named_and_repaired_and_goes_on(harm: Harm, counts: dict[str, int], tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=3, pending=1)
    whole = made.seq
    name = harm(made)
    before = contents(made.run / layout.JOURNAL)
    for read in (FileReader(made.run).position, FileReader(made.run).state, FileStore(made.run).write("t").__enter__):
        with pytest.raises(JournalBroken) as caught:
            read()
        assert name in caught.value.message
        assert f"bridle run:repair-journal {made.run} " in str(caught.value.remedy)
    plan = repair.plan_repair(made.run)
    assert plan.is_needed
    assert len(plan.kept) == whole + counts.get("kept", 0)
    assert len(plan.files) == whole + counts.get("files", 0)
    for sort in ("corrupt", "requested", "resolved", "leftover"):
        assert plan.count(sort) == counts.get(sort, 0), sort
    backup = repair.carry_out(made.run, plan)
    assert contents(backup) == before
    assert FileReader(made.run).position().seq == len(plan.kept)
    texts = set(contents(made.run / layout.JOURNAL).values())
    assert texts <= set(before.values()), "what is kept keeps its text"
    append(made.run)
    assert [entry.seq for entry in FileReader(made.run).entries()] == list(range(1, len(plan.kept) + 2))
    assert not repair.plan_repair(made.run).is_needed


def test_entries_that_are_missing_are_reported(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=3, pending=1)
    for number in (2, 5):
        entry_file(made.run, number).unlink()
    assert repair.plan_repair(made.run).missing == ["000002", "000005"]


def remove(path: Path) -> None:
    path.unlink()


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:50])


@pytest.mark.parametrize("harm", [remove, tear])
@pytest.mark.parametrize("numbers", [(1,), (2,), (5,), (1, 3, 5), (1, 2, 3, 4, 5)])
def test_entries_that_the_pack_has_are_restored_byte_for_byte(
    harm: Callable[[Path], None], numbers: tuple[int, ...], tmp_path: Path
) -> None:
    run = new_run(tmp_path)
    append(run)
    before = contents(run / layout.JOURNAL)
    for number in numbers:
        harm(entry_file(run, number))
    plan = repair.plan_repair(run)
    assert [name[:6] for name in plan.restored] == [f"{number:06d}" for number in numbers]
    assert (plan.is_needed, plan.missing, plan.dropped) == (True, [], [])
    repair.carry_out(run, plan)
    assert contents(run / layout.JOURNAL) == before
    assert audit(run).is_good
    assert not repair.plan_repair(run).is_needed
    append(run)


def test_entries_that_are_too_large_for_the_pack_are_lost_and_named(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_X", {"text": "x" * 100_000})
    append(run)
    names = [entry_file(run, number).name for number in (5, 6)]
    for name in names:
        (run / layout.JOURNAL / name).unlink()
    plan = repair.plan_repair(run)
    assert (plan.missing, list(plan.restored)) == (names[:1], names[1:])
    repair.carry_out(run, plan)
    assert FileReader(run).position().seq == 5
    assert audit(run).is_good


def test_an_entry_in_the_pack_that_cannot_follow_is_not_called_restored(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        request = make_request("E3", 3)
        request.label = "x" * 100_000  # so its entry is too large for the pack
        writer.request(request)
        writer.resolve("E3", ok("three"))
    names = [entry_file(run, number).name for number in (5, 6)]
    for name in names:
        (run / layout.JOURNAL / name).unlink()
    plan = repair.plan_repair(run)
    assert (plan.missing, plan.restored, len(plan.kept)) == (names, {}, 4)
    assert [item.name for item in plan.dropped] == names[1:]
    repair.carry_out(run, plan)
    assert FileReader(run).position().seq == 4


def test_a_repaired_journal_is_on_the_disk_before_it_replaces_the_broken_one(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    tear(entry_file(run, 4))
    plan = repair.plan_repair(run)
    with watch(lambda _change: None) as changes:
        repair.carry_out(run, plan)
    renamed = next(index for index, change in enumerate(changes) if change.operation == "rename")
    before, after = changes[:renamed], changes[renamed:]
    (folder,) = (change.path for change in before if change.operation == "mkdir")
    created = [change.path for change in before if change.operation == "create" and change.path.startswith(folder)]
    assert len(created) == len(plan.kept)
    for path in created:
        assert Change("sync", path) in before
    assert Change("sync", folder) in before[before.index(Change("sync", created[-1])) :]
    assert Change("sync", str(run)) in after


def test_a_pack_of_another_journal_or_a_changed_one_restores_nothing(tmp_path: Path) -> None:
    run, other = new_run(tmp_path / "one"), new_run(tmp_path / "other")
    append(other)
    entry_file(run, 2).unlink()
    pack = (other / "state/bridle.pack").read_bytes().replace(entry_file(other, 1).name[7:-5].encode(), b"0" * 26)
    (run / "state/bridle.pack").write_bytes(pack)
    plan = repair.plan_repair(run)
    assert (plan.missing, plan.restored) == (["000002"], {})


@pytest.mark.parametrize("harm", [remove, tear])
def test_a_journal_without_its_first_entry_is_not_called_repaired(harm: Callable[[Path], None], tmp_path: Path) -> None:
    run = new_run(tmp_path)
    shutil.rmtree(run / layout.STATE)
    harm(entry_file(run, 1))
    before = contents(run)
    for more in ((), ("--dry-run",)):
        done = run_bridle("run:repair-journal", run, *more, "--json")
        assert (done.returncode, done.stdout) == (1, "")
        assert "cannot be repaired: its first entry, RUN_CREATED, is lost" in done.stderr
    after = contents(run)
    assert {name: after[name] for name in before} == before


def test_a_journal_that_is_whole_needs_no_repair(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    plan = repair.plan_repair(run)
    assert (plan.is_needed, plan.dropped, len(plan.kept)) == (False, [], 4)
    assert all(old == new for old, new in plan.kept)


def test_names_change_only_where_they_must(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=3, pending=1)
    broken = torn(made)
    plan = repair.plan_repair(made.run)
    assert [pair for pair in plan.kept if pair[0] < broken] == [(name, name) for name, _ in plan.kept[:3]]
    for old, new in plan.kept[3:]:
        assert old.split(".")[1:] == new.split(".")[1:], "an id that rises stays"


def test_leftovers_are_set_aside_by_a_repair(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    leftover = run / layout.JOURNAL / "000005.01M7EB7NK2X29EXB02ZCA0GEZ3.json.tmp-1-2"
    leftover.write_text("half", encoding="utf-8")
    backup = repair.carry_out(run, repair.plan_repair(run))
    assert not leftover.exists()
    assert (backup / leftover.name).exists()
    post(run)


def test_a_repair_that_was_killed_between_its_two_steps_is_finished_by_the_next(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    before = contents(run / layout.JOURNAL)
    os.rename(run / layout.JOURNAL, run / f"{layout.BACKUP_PREFIX}1790000000000")
    with pytest.raises(RunNotFound):
        repair.plan_repair(run)
    (run / f"{layout.BACKUP_PREFIX}1780000000000").mkdir()  # of an earlier repair
    repair.finish_interrupted(run)
    assert contents(run / layout.JOURNAL) == before
    repair.finish_interrupted(run)
    assert contents(run / layout.JOURNAL) == before


def test_without_a_journal_there_is_nothing_to_repair(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    shutil.rmtree(run / layout.JOURNAL)
    repair.finish_interrupted(run)
    with pytest.raises(RunNotFound, match="no journal at"):
        repair.plan_repair(run)
