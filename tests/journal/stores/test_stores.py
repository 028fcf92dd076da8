"""The conformance suite: what every store of a journal promises, held against each of them."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from itertools import cycle, pairwise
from pathlib import Path

import pytest

from bridle.errors import DiskError, EffectNotFound, EffectResolved, InternalError, KeyMismatch, LockHeld, UsageError
from bridle.ground import disk
from bridle.journal.format import layout
from bridle.journal.format.entries import Output, Posted
from bridle.journal.format.state import fold
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import SNAPSHOT_LIMIT_ENTRIES, FileStore
from bridle.journal.stores.store import Store
from tests.journal.fixtures.chained_runs import append, make_run
from tests.journal.fixtures.entry_steps import MOMENT, failure, ids, make_request, ok
from tests.journal.fixtures.memory_store import MemoryStore

# A thread that does not get its turn within this is hanging.
LIMIT_SECONDS = 30

Open = Callable[[], Store]


@pytest.fixture(params=["files", "memory", "kept", "kept by two"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Opens the same run again and again, each time as a process of its own would; kept ones know what they saw."""
    if request.param == "memory":
        store = MemoryStore({"runId": "r", "processId": "demo"}, inputs={"a": 1})
        with store.write("test") as writer:
            writer.append("RUN_CREATED", {"runId": "r"})
        return lambda: store
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py", has_inputs=True, inputs={"a": 1})
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    if request.param == "files":
        return lambda: FileStore(run)
    stores = cycle([FileStore(run, reuses_view=True) for _ in request.param.split(" by ")])
    return lambda: next(stores)


def test_a_run_says_what_it_was_created_with(opened: Open) -> None:
    store = opened()
    assert (store.metadata().run_id, store.inputs(store.state().created)) == ("r", {"a": 1})
    assert [entry.type for entry in store.entries()] == ["RUN_CREATED"]


def test_entries_are_numbered_without_a_gap_and_their_ids_rise(opened: Open) -> None:
    for number in range(5):
        with opened().write("test") as writer:
            for part in range(3):
                writer.append("BRIDLE_X", {"n": number, "part": part})
    entries = list(opened().entries())
    assert [entry.seq for entry in entries] == list(range(1, 17))
    assert all(one.ulid < other.ulid for one, other in pairwise(entries))
    assert [dict(entry.data) for entry in entries[1:]] == [
        {"n": n, "part": part} for n in range(5) for part in range(3)
    ]


def test_entries_can_be_read_from_any_place_on(opened: Open) -> None:
    with opened().write("test") as writer:
        for number in range(4):
            writer.append("BRIDLE_X", {"n": number})
    assert [entry.seq for entry in opened().entries(after=3)] == [4, 5]
    assert list(opened().entries(after=5)) == []


def test_an_appended_entry_is_given_back_as_readers_see_it(opened: Open) -> None:
    with opened().write("test") as writer:
        entry = writer.append("BRIDLE_X", {"text": "héllo", "none": None, "list": [1, 2.5, {"a": True}]})
        assert writer.state.last == entry
    assert list(opened().entries())[-1] == entry


def test_the_state_is_the_fold_of_the_entries(opened: Open) -> None:
    with opened().write("test") as writer:
        first, second = writer.new_id(), writer.new_id()
        writer.request(make_request(first, 1))
        writer.request(make_request(second, 2, kind="breakpoint"))
        writer.resolve(first, ok({"done": True}))
    store = opened()
    folded, state, position = fold(store.entries()), store.state(), store.position()
    assert repr(state.effects) == repr(folded.effects)
    assert [effect.effect_id for effect in state.pending] == [second]
    assert (position.seq, position.ulid, position.state) == (4, folded.position.ulid, "waiting")
    assert position.pending_by_kind() == {"breakpoint": 1}


def test_an_effect_is_asked_for_and_resolved(opened: Open) -> None:
    with opened().write("test") as writer:
        effect_id = writer.new_id()
        entry = writer.request(make_request(effect_id, inputs={"path": "a.py"}))
    assert (entry.type, entry.data["effectId"]) == ("EFFECT_REQUESTED", effect_id)
    store = opened()
    task = store.task(store.state().effects[effect_id])
    assert (task.document["kind"], task.title, task.inputs) == ("agent", "A title", {"path": "a.py"})
    with opened().write("test") as writer:
        entry = writer.resolve(effect_id, ok({"b": 1, "a": [None]}), key="demo:S000001:task")
    assert (entry.type, entry.data["status"]) == ("EFFECT_RESOLVED", "ok")
    store = opened()
    effect = store.state().effects[effect_id]
    assert (effect.status, store.result(effect).value) == ("resolved_ok", {"b": 1, "a": [None]})


def test_an_error_comes_back_as_it_was_posted(opened: Open) -> None:
    with opened().write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id))
        writer.resolve(effect_id, failure("ExitError", "exit 1"))
    store = opened()
    result = store.result(store.state().effects[effect_id])
    assert (result.status, result.value, result.error) == ("error", None, {"name": "ExitError", "message": "exit 1"})


@pytest.mark.parametrize("value", [None, 0, "", False, [], {}, "text", 1.5, [1, [2]], "x" * 20_000, "x" * 2_000_000])
def test_any_json_is_a_value(opened: Open, value: object) -> None:
    with opened().write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, inputs={"given": value}))
        writer.resolve(effect_id, ok(value))
    store = opened()
    effect = store.state().effects[effect_id]
    assert store.result(effect).value == value
    assert store.task(effect).inputs == {"given": value}


def test_the_digest_of_the_inputs_is_known(opened: Open) -> None:
    from bridle.journal.format.documents import digest_of

    with opened().write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, inputs={"b": 1, "a": 2}))
    store = opened()
    assert store.inputs_digest(store.state().effects[effect_id]) == digest_of({"a": 2, "b": 1})


def test_what_an_effect_printed_is_named_in_its_resolution(opened: Open) -> None:
    with opened().write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id))
        said, kept = Output(text="said\n"), Output(ref="elsewhere.log")
        posted = Posted("ok", value=1, started_at="s", finished_at="f", stdout=said, stderr=kept)
        entry = writer.resolve(effect_id, posted)
    assert (entry.data["stdoutRef"], entry.data["stderrRef"]) == (f"tasks/{effect_id}/stdout.log", "elsewhere.log")


def test_a_second_result_and_one_for_no_effect_and_one_for_another_key_are_refused_and_change_nothing(
    opened: Open,
) -> None:
    with opened().write("test") as writer:
        done, waiting = writer.new_id(), writer.new_id()
        writer.request(make_request(done, 1))
        writer.request(make_request(waiting, 2))
        writer.resolve(done, ok("first"))
    before = list(opened().entries())
    with opened().write("test") as writer:
        with pytest.raises(EffectResolved, match="is not requested"):
            writer.resolve(done, ok("second"))
        with pytest.raises(EffectNotFound):
            writer.resolve(writer.new_id(), ok(1))
        with pytest.raises(KeyMismatch, match="invocation key mismatch"):
            writer.resolve(waiting, ok(1), key="demo:S000009:task")
        with pytest.raises(UsageError):
            writer.resolve(waiting, Posted("error", started_at="", finished_at=""))
    store = opened()
    assert list(store.entries()) == before
    assert store.result(store.state().effects[done]).value == "first"
    with opened().write("test") as writer:
        writer.resolve(waiting, ok("afterwards"))


def test_a_step_cannot_be_asked_for_twice(opened: Open) -> None:
    with opened().write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, 1))
        with pytest.raises(InternalError, match="in use"):
            writer.request(make_request(writer.new_id(), 1))
        with pytest.raises(InternalError, match="in use"):
            writer.request(make_request(effect_id, 2))
        writer.append("BRIDLE_X", {})
    assert [entry.type for entry in opened().entries()] == ["RUN_CREATED", "EFFECT_REQUESTED", "BRIDLE_X"]


def test_ids_are_greater_than_everything_before_them(opened: Open) -> None:
    with opened().write("test") as writer:
        given = [writer.new_id() for _ in range(100)]
        entry = writer.append("BRIDLE_X", {})
        given += [entry.ulid, writer.new_id()]
    assert given == sorted(set(given))
    with opened().write("test") as writer:
        assert writer.new_id() > entry.ulid


def test_what_json_cannot_say_is_refused_and_the_writer_goes_on(opened: Open) -> None:
    with opened().write("test") as writer:
        with pytest.raises(UsageError):
            writer.append("BRIDLE_X", {"n": float("nan")})
        writer.append("BRIDLE_X", {"n": 1})
    assert [entry.seq for entry in opened().entries()] == [1, 2]


def test_there_is_one_writer_at_a_time_and_who_waits_gets_its_turn(opened: Open) -> None:
    with opened().write("the first") as first:
        with pytest.raises(LockHeld), opened().write("the second", wait_seconds=0):
            raise AssertionError("two writers at once")
        first.append("BRIDLE_X", {"by": "first"})
        waiting = threading.Thread(target=_append_later, args=(opened,))
        waiting.start()
    waiting.join(LIMIT_SECONDS)
    assert [entry.data.get("by") for entry in opened().entries()] == [None, "first", "second"]


def _append_later(opened: Open) -> None:
    with opened().write("the second", wait_seconds=LIMIT_SECONDS) as writer:
        writer.append("BRIDLE_X", {"by": "second"})


def test_a_writer_that_failed_has_given_its_turn_back(opened: Open) -> None:
    with pytest.raises(ZeroDivisionError), opened().write("test") as writer:
        writer.append("BRIDLE_X", {"n": 1 // 0})
    with opened().write("test", wait_seconds=0) as writer:
        assert writer.append("BRIDLE_X", {}).seq == 2


def test_a_writer_whose_turn_is_over_cannot_append(opened: Open) -> None:
    with opened().write("test") as writer:
        pass
    with pytest.raises(InternalError):
        writer.append("BRIDLE_X", {})
    assert len(list(opened().entries())) == 1


def test_epochs_rise_with_what_is_appended(opened: Open) -> None:
    epochs = []
    for number in range(6):
        with opened().write("test") as writer:
            epochs.append(writer.epoch)
            if number % 2:
                writer.append("BRIDLE_X", {})
    assert epochs == sorted(epochs)
    assert epochs[1] < epochs[2]
    assert epochs[3] < epochs[4]


def test_a_writer_sees_what_others_wrote_before_its_turn(opened: Open) -> None:
    store = opened()
    assert store.position().seq == 1
    with opened().write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id))
    assert store.position().seq == 2
    with store.write("test") as writer:
        assert list(writer.position.pending) == [effect_id]
        assert list(writer.state.effects) == [effect_id]


def test_the_output_of_a_process_is_kept(opened: Open) -> None:
    with opened().write("test") as writer:
        ref = writer.write_output({"sum": 5, "note": "héllo ✓"})
        writer.append("RUN_COMPLETED", {"outputRef": ref})
    store = opened()
    assert (ref, store.output(store.state().ended), store.position().state) == (
        "state/output.json",
        {"sum": 5, "note": "héllo ✓"},
        "completed",
    )


def test_a_store_that_keeps_what_it_saw_reads_only_what_is_new(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py")
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    kept, other = FileStore(run, reuses_view=True), FileStore(run)
    for number in range(50):
        with (kept, other)[number % 2].write("test") as writer:
            effect_id = writer.new_id()
            writer.request(make_request(effect_id, number))
            writer.resolve(effect_id, ok({"number": number}))
    state = kept.state()
    with other.write("test") as writer:
        effect_id = writer.new_id()
        writer.request(make_request(effect_id, 50))
        writer.resolve(effect_id, ok({"number": 50}))
    again = kept.state()
    assert again is state, "what was read once was read again"
    assert [effect.effect_id for effect in again.resolved] == [one.effect_id for one in other.state().resolved]
    assert [kept.result(effect).value for effect in again.resolved] == [{"number": number} for number in range(51)]


def test_a_store_that_reads_while_another_one_writes_keeps_what_it_saw(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py")
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    append(run)  # from here on there is a pack
    kept, other = FileStore(run, reuses_view=True), FileStore(run)
    state, seen = kept.state(), []
    for number in range(4):
        with other.write("test") as writer:
            effect_id = writer.new_id()
            writer.request(make_request(effect_id, number))
            if number % 2:
                seen.append(kept.position().seq)
            writer.resolve(effect_id, ok({"number": number}))
            for _ in range(number):
                writer.append("BRIDLE_X", {"number": number})
                seen.append(kept.state().position.seq)
        assert kept.state() is state, "what was read once was read again"
        if number == 2:  # its own entries follow those that it saw before the pack had them
            with kept.write("test") as writer:
                writer.append("BRIDLE_X", {})
    assert seen == sorted({*seen})
    again = FileStore(run).state()
    assert (state.position.seq, state.position.ulid) == (again.position.seq, again.position.ulid)
    assert [effect.effect_id for effect in state.resolved] == [effect.effect_id for effect in again.resolved]
    assert [kept.result(effect).value for effect in state.resolved] == [{"number": number} for number in range(4)]
    assert [entry.data for entry in state.notes] == [entry.data for entry in again.notes]


def test_a_store_whose_unpacked_entries_are_not_those_of_the_pack_reads_the_journal_anew(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py")
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    append(run)
    shutil.copytree(run, tmp_path / "other")
    kept = FileStore(run, reuses_view=True)
    state = kept.state()
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_X", {"of": "this"})
        assert kept.state() is state
    append(tmp_path / "other")
    pack = layout.STATE + "/" + layout.PACK_FILE
    shutil.rmtree(run / layout.JOURNAL)
    shutil.copytree(tmp_path / "other" / layout.JOURNAL, run / layout.JOURNAL)
    shutil.copy(tmp_path / "other" / pack, run / pack)
    again = kept.state()
    assert again is not state
    assert again.position.ulid == list(FileStore(run).entries())[-1].ulid


def test_a_pack_that_was_replaced_or_torn_under_a_store_that_keeps_what_it_saw_is_noticed(tmp_path: Path) -> None:
    new = NewRun(run_id="r", process_id="demo", entry=tmp_path / "p.py")
    run = create_run(tmp_path / "runs", new, proof="0" * 32, ulid=ids(1)[0], created_at=MOMENT)
    kept, other = FileStore(run, reuses_view=True), FileStore(run)
    pack = run / layout.STATE / layout.PACK_FILE
    for harm in (lambda: pack.write_bytes(b""), pack.unlink, lambda: pack.write_bytes(pack.read_bytes()[:-7])):
        with kept.write("test") as writer:
            writer.append("BRIDLE_X", {})
            assert writer.state.last is not None
        with other.write("test") as writer:
            writer.append("BRIDLE_X", {})
        harm()
        assert kept.state().position.seq == len(list(other.entries()))
        with kept.write("test") as writer:
            writer.append("BRIDLE_X", {})
        assert fold(other.entries()).position.seq == kept.state().position.seq == other.state().position.seq


def test_a_writer_that_could_not_write_an_entry_appends_no_other(tmp_path: Path) -> None:
    run = make_run(tmp_path, entries=1)

    def refuse(_old: Path, new: Path) -> None:
        raise DiskError(f"{new} could not be replaced")

    with FileStore(run).write("test") as writer:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(disk, "move", refuse)
            with pytest.raises(DiskError):
                writer.append("BRIDLE_X", {})
        with pytest.raises(InternalError, match="has failed"):
            writer.append("BRIDLE_X", {})
    append(run)
    assert [entry.seq for entry in FileStore(run).entries()] == [1, 2]


def test_the_cache_of_the_format_has_the_end_of_a_long_run(tmp_path: Path) -> None:
    run = make_run(tmp_path, entries=SNAPSHOT_LIMIT_ENTRIES + 1)
    path = run / layout.STATE / layout.STATE_FILE
    path.unlink(missing_ok=True)
    append(run)
    assert not path.exists()
    with FileStore(run).write("test") as writer:
        ended = writer.append("RUN_HALTED", {"reason": "enough"})
    assert json.loads(path.read_bytes())["stateVersion"] == ended.seq
