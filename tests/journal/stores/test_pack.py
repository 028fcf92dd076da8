"""The pack is a cache: whatever it holds, the journal's files decide; and long runs cost what short ones do."""

from __future__ import annotations

import builtins
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from bridle.errors import EffectResolved, JournalBroken
from bridle.journal.format import folder_names, layout
from bridle.journal.format.state import fold
from bridle.journal.stores import read_pack, write_pack
from bridle.journal.stores.file_reader import WORTH_PACKING_ENTRIES, FileReader
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.view import View
from tests.journal.fixtures.entry_steps import make_request, ok
from tests.journal.fixtures.journal_writes import append, new_run, post
from tests.journal.fixtures.recorded_samples import contents
from tests.journal.fixtures.sample_runs import LongRun, long_run

PACK = f"{layout.STATE}/{layout.PACK_FILE}"


def truth(run: Path) -> str:
    """What the journal's own files say."""
    store = FileReader(run)
    state = fold(store.entries())
    results = {effect.effect_id: store.tasks.result(effect) for effect in state.resolved}
    return f"{state.position.seq} {state.position.ulid} {state.position.state} {state.effects} {results}"


def told(run: Path) -> str:
    """What a reader is told, who trusts the pack as far as it may."""
    store = FileReader(run)
    state, position = store.state(), store.position()
    assert list(position.pending) == [effect.effect_id for effect in state.pending]
    results = {effect.effect_id: store.result(effect) for effect in state.resolved}
    return f"{position.seq} {position.ulid} {position.state} {state.effects} {results}"


def goes_on(run: Path) -> None:
    """A writer finds its place, and everybody agrees afterwards."""
    before = truth(run)
    assert told(run) == before
    append(run)
    post(run)
    assert told(run) == truth(run) != before


def test_the_pack_is_made_by_writers_and_tells_the_truth(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    assert (run / PACK).exists()
    goes_on(run)


def test_after_every_turn_the_pack_knows_the_folder(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    for write in (append, post, append):
        write(run)
        tail = read_pack.read_tail(run / PACK, FileReader(run).load)
        assert tail is not None
        assert tail.seal.mark == folder_names.mark_of(run / layout.JOURNAL) is not None


def test_an_entry_of_another_program_that_comes_before_the_mark_is_not_missed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    view = View.of_state(FileReader(run).place)
    journal = run / layout.JOURNAL
    looked = folder_names.mark_of(journal)
    append(run)
    view.set_mark(looked=looked)
    assert not view.is_current()
    view.set_mark(looked=folder_names.mark_of(journal))
    assert view.is_current()


def test_a_reader_that_packs_after_a_writer_died_does_not_trust_the_time_of_the_folder(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=WORTH_PACKING_ENTRIES // 2 + 1)
    reader, journal = FileReader(made.run), made.run / layout.JOURNAL
    moment = journal.stat().st_mtime_ns - 10 * folder_names.SETTLED_NANOSECONDS
    os.utime(journal, ns=(moment, moment))
    view = View.of_state(reader.place)
    made.append("BRIDLE_X", {})
    os.utime(journal, ns=(moment, moment))
    note = {"pid": 1, "holder": "killed", "since": "", "work": None}
    (made.run / layout.LOCK_FILE).write_text(json.dumps(note))
    reader._leave_pack(view)
    assert (made.run / PACK).exists()
    assert FileReader(made.run).position().seq == made.seq


def test_a_pack_that_is_gone_is_not_missed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    shutil.rmtree(run / layout.STATE)
    goes_on(run)
    assert (run / PACK).exists()


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\n", b"garbage", b"\0" * 4096, b"00000000 []\n", b'd6b7c7e5 ["s"]\n', os.urandom(5000)],
    ids=["empty", "line", "word", "zeros", "list", "half a seal", "noise"],
)
def test_a_pack_of_garbage_is_passed_over(garbage: bytes, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run / PACK).write_bytes(garbage)
    goes_on(run)


def test_a_folder_or_a_link_in_the_place_of_the_pack_is_passed_over(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run / PACK).unlink()
    (run / PACK).mkdir()
    goes_on(run)
    (run / PACK).rmdir()
    (tmp_path / "elsewhere").write_bytes(b"not ours")
    (run / PACK).symlink_to(tmp_path / "elsewhere")
    told(run)
    append(run)
    assert (tmp_path / "elsewhere").read_bytes() == b"not ours"


def test_a_pack_that_is_cut_anywhere_is_used_as_far_as_it_goes(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    good, expected = (run / PACK).read_bytes(), truth(run)
    for length in range(len(good)):
        (run / PACK).write_bytes(good[:length])
        assert told(run) == expected
    goes_on(run)


def test_a_pack_with_any_byte_changed_tells_the_truth(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    good, expected = (run / PACK).read_bytes(), truth(run)
    for position in range(len(good)):
        (run / PACK).write_bytes(good[:position] + bytes([good[position] ^ 0x21]) + good[position + 1 :])
        assert told(run) == expected
    goes_on(run)


def test_a_pack_with_lines_missing_doubled_or_exchanged_tells_the_truth(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    lines, expected = (run / PACK).read_bytes().splitlines(keepends=True), truth(run)
    chance = Random(5)  # noqa: S311  # the same mixtures every time
    for _ in range(100):
        mixed = [chance.choice(lines) for _ in range(chance.randrange(2 * len(lines)))]
        (run / PACK).write_bytes(b"".join(mixed))
        assert told(run) == expected
    goes_on(run)


def test_an_old_pack_put_back_is_caught_up_with(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    old = (run / PACK).read_bytes()
    append(run)
    (run / PACK).write_bytes(old)
    goes_on(run)


@pytest.mark.parametrize("more", [0, 1])
def test_the_pack_of_another_run_is_seen_through(more: int, tmp_path: Path) -> None:
    run, other = new_run(tmp_path / "one"), new_run(tmp_path / "other")
    for _ in range(more):
        append(other)
    shutil.copy(other / PACK, run / PACK)
    goes_on(run)


@pytest.mark.parametrize("keeps_view", [False, True])
def test_after_a_writer_that_died_the_folder_is_listed_whatever_its_mark_says(
    tmp_path: Path, *, keeps_view: bool
) -> None:
    made = long_run(tmp_path, "r", resolved=1, pending=1)
    store = FileStore(made.run, reuses_view=keeps_view)
    with store.write("test") as writer:
        writer.append("BRIDLE_X", {})
    assert store.state().position.seq == made.seq + 1
    journal, lock = made.run / layout.JOURNAL, made.run / layout.LOCK_FILE
    mark = journal.stat().st_mtime_ns
    made.seq, made._ulid = made.seq + 1, FileReader(made.run).position().ulid
    made.append("STOP_HOOK_INVOKED", {"sessionId": "s"})
    os.utime(journal, ns=(mark, mark))
    lock.write_text('{"pid": 4194305, "holder": "task:post", "since": "2026-11-15T00:00:00.000Z"}\n', encoding="utf-8")
    with store.write("test") as writer:
        assert writer.append("BRIDLE_X", {}).seq == made.seq + 1
    assert told(made.run) == truth(made.run)


@pytest.mark.parametrize("has_state", [True, False], ids=["with its caches", "without caches"])
def test_a_folder_put_back_to_an_earlier_day_is_believed(tmp_path: Path, *, has_state: bool) -> None:
    run = new_run(tmp_path)
    shutil.copytree(run, tmp_path / "backup")
    append(run)
    shutil.rmtree(run)
    shutil.copytree(tmp_path / "backup", run)
    if not has_state:
        shutil.rmtree(run / layout.STATE)
    assert FileReader(run).position().seq == 4
    goes_on(run)


def test_an_entry_that_another_program_adds_is_noticed_at_once(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=3, pending=2)
    with FileStore(made.run).write("test") as writer:
        writer.append("BRIDLE_X", {})
    made.seq += 1
    made._ulid = FileReader(made.run).position().ulid
    made.append("STOP_HOOK_INVOKED", {"sessionId": "s"})
    assert FileReader(made.run).position().stops == 1
    with FileStore(made.run).write("test") as writer:
        assert writer.append("BRIDLE_X", {}).seq == made.seq + 1
    assert told(made.run) == truth(made.run)


def test_an_entry_that_appears_during_a_turn_is_noticed_too(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=1, pending=1)
    with FileStore(made.run).write("test") as writer:
        writer.append("BRIDLE_X", {})
        made.seq, made._ulid = writer.position.seq, writer.position.ulid
        made.append("STOP_HOOK_INVOKED", {"sessionId": "s"})
        assert writer.append("BRIDLE_X", {}).seq == made.seq + 1
    assert told(made.run) == truth(made.run)


def test_an_effect_resolved_by_another_program_during_a_turn_is_not_resolved_again(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=1, pending=1)
    effect = FileReader(made.run).state().pending[0]
    with FileStore(made.run).write("test") as writer:
        made.resolve(effect, "first")
        with pytest.raises(EffectResolved):
            writer.resolve(effect.effect_id, ok("second"))
    store = FileReader(made.run)
    state = store.state()
    assert (state.position.seq, store.result(state.effects[effect.effect_id]).value) == (made.seq, "first")
    assert told(made.run) == truth(made.run)


def test_a_removed_entry_that_is_not_the_newest_is_noticed(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    oldest = min((run / layout.JOURNAL).iterdir())
    oldest.unlink()
    with pytest.raises(JournalBroken, match=r"expected 1, found 2"):
        FileReader(run).position()
    with pytest.raises(JournalBroken), FileStore(run).write("test"):
        raise AssertionError("a broken journal is not written to")


def test_what_the_pack_vouches_for_is_not_read_again_and_a_rebuild_reads_everything(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    first = min((run / layout.JOURNAL).iterdir())
    first.write_bytes(first.read_bytes().replace(b"demo", b"evil"))
    assert FileReader(run).position().seq == 4
    with pytest.raises(JournalBroken, match="checksum") as caught:
        list(FileReader(run).entries())
    assert first.name in caught.value.message
    with pytest.raises(JournalBroken, match="checksum"), FileStore(run).write("test") as writer:
        writer.rebuild()


def test_entries_too_large_for_the_pack_are_read_from_their_files(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    large = {"said": "x" * (2 * write_pack.LINE_LIMIT_BYTES)}
    with FileStore(run).write("test") as writer:
        entry = writer.append("BRIDLE_X", large)
    assert (run / PACK).stat().st_size < write_pack.LINE_LIMIT_BYTES
    assert FileReader(run).state().notes == [entry]
    goes_on(run)


def test_values_and_digests_learned_once_are_in_the_pack_afterwards(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=5, pending=1)
    store = FileStore(made.run)
    with store.write("test") as writer:
        for effect in writer.state.resolved:
            store.result(effect)
            store.inputs_digest(effect)
        writer.append("BRIDLE_X", {})
    expected = {effect.effect_id: store.result(effect).value for effect in store.state().resolved}
    digests = {effect.effect_id: store.inputs_digest(effect) for effect in store.state().resolved}
    assert b'["x"' not in (made.run / PACK).read_bytes(), "many of them stand beside their entries"
    packed = read_pack.read_all(made.run / PACK, FileReader(made.run).load)
    assert (packed.values, packed.digests) == (expected, digests)


def test_results_posted_by_us_are_in_the_pack_at_once(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    post(run)
    packed = read_pack.read_all(run / PACK, FileReader(run).load)
    assert list(packed.values.values()) == ["one", {"said": "two"}]


@pytest.mark.parametrize("resolved", [5, WORTH_PACKING_ENTRIES])
def test_a_reader_writes_a_pack_where_that_is_worth_it_and_else_changes_nothing(resolved: int, tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=resolved)
    before = contents(made.run)
    FileReader(made.run).position()
    is_worth_it = 2 * resolved + 2 >= WORTH_PACKING_ENTRIES
    assert (set(contents(made.run)) - set(before) == {PACK, layout.LOCK_FILE}) == is_worth_it
    assert (contents(made.run) == before) != is_worth_it


def test_a_reader_leaves_the_pack_alone_during_a_write(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=WORTH_PACKING_ENTRIES)
    with FileStore(made.run).write("test"):
        before = contents(made.run)
        assert FileReader(made.run).position().seq == made.seq
        assert contents(made.run) == before


class Reading:
    """What a command reads: how many files it opens, how many names it lists, how many bytes it gets."""

    def __init__(self) -> None:
        self.files = 0
        self.listed = 0
        self.size = 0


def reading(read_journal: Callable[[], object], patch: pytest.MonkeyPatch) -> Reading:
    """Count what is read at the edge of the operating system."""
    found = Reading()
    real_open, real_read, real_pread, real_list = os.open, os.read, os.pread, os.listdir

    def open_(*arguments: object, **options: object) -> int:
        found.files += 1
        return real_open(*arguments, **options)  # type: ignore[arg-type]  # passed on as they came

    def read(fd: int, length: int) -> bytes:
        data = real_read(fd, length)
        found.size += len(data)
        return data

    def pread(fd: int, length: int, offset: int) -> bytes:
        data = real_pread(fd, length, offset)
        found.size += len(data)
        return data

    def listdir(path: str) -> list[str]:
        names = real_list(path)
        found.listed += len(names)
        return names

    with patch.context() as watched:
        for name, function in {"open": open_, "read": read, "pread": pread, "listdir": listdir}.items():
            watched.setattr(os, name, function)
        watched.setattr(builtins, "open", _refuse)  # nothing may slip past the counting
        read_journal()
    return found


def _refuse(*arguments: object, **options: object) -> None:
    raise AssertionError("a file was opened past the counting")


def test_position_and_posting_read_the_same_with_few_and_with_many_effects_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readings = {}
    for resolved in (60, 600):
        made = long_run(tmp_path / str(resolved), "r", resolved=resolved, pending=40)
        FileReader(made.run).position()  # leaves the pack
        post_one(made)
        status = reading(lambda run=made.run: FileReader(run).position(), monkeypatch)  # type: ignore[misc]  # bound now
        posted = reading(lambda one=made: post_one(one), monkeypatch)  # type: ignore[misc]  # bound now
        readings[resolved] = [(one.files, one.listed) for one in (status, posted)]
        assert status.size < 2 * write_pack.CHECKPOINT_AFTER_BYTES
        assert posted.size < 4 * write_pack.CHECKPOINT_AFTER_BYTES
    assert readings[60] == readings[600]
    assert readings[60][0] == (3, 0), "where a run stands is in run.json, the beginning of the pack, and its end"


def post_one(made: LongRun) -> None:
    """Post the next result, as task:post does."""
    store = FileStore(made.run)
    with store.write("test") as writer:
        writer.resolve(next(iter(writer.position.pending)), ok({"posted": True}))


def test_the_end_of_the_pack_stays_short_however_long_the_run_gets(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    store, longest = FileStore(run), 0
    for number in range(3, 150):
        with store.write("test") as writer:
            effect_id = writer.new_id()
            writer.request(make_request(effect_id, number))
            writer.resolve(effect_id, ok("x" * 500))
        view = View.of_position(store.place)
        assert view._end is not None
        longest = max(longest, view._end.size - view._end.checkpoint)
    assert longest < 2 * write_pack.CHECKPOINT_AFTER_BYTES < (run / PACK).stat().st_size
    assert told(run) == truth(run)


def test_many_pending_effects_do_not_make_the_pack_grow_faster_than_the_journal(tmp_path: Path) -> None:
    made = long_run(tmp_path, "r", resolved=0, pending=1500)
    FileReader(made.run).position()
    start = (made.run / PACK).stat().st_size
    for _ in range(60):
        post_one(made)
    assert (made.run / PACK).stat().st_size < 3 * start
    assert told(made.run) == truth(made.run)
