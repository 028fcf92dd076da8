"""Every result is verified when it is read: from its file by its digest, from the cache by the stamp of the file."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bridle.errors import JournalBroken
from bridle.journal.format import folder_names, layout
from bridle.journal.format.state import State
from bridle.journal.stores import read_pack, write_pack
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.journal.fixtures.entry_steps import failure, make_request, ok
from tests.journal.fixtures.journal_writes import new_run

# A test that takes longer than this has hung.
LIMIT_SECONDS = 60
PACK = f"{layout.STATE}/{layout.PACK_FILE}"
VALUES = {"small": {"said": "two"}, "in its own file": "x" * 1_100_000, "too large for the pack": "x" * 20_000}


def posted(folder: Path, value: object) -> Path:
    """A run whose effect E2 has this value."""
    run = new_run(folder)
    with FileStore(run).write("test") as writer:
        writer.resolve("E2", ok(value))
    return run


def settled(path: Path) -> None:
    """Wait until a later change of the file must have another stamp."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.time_ns() - os.stat(path).st_ctime_ns <= folder_names.SETTLED_NANOSECONDS:
        assert time.monotonic() < deadline, "the clock was put back"


def verified(run: Path) -> None:
    """Read every result and put its stamp into the pack, as an iteration does."""
    for path in (run / layout.TASKS).glob(f"*/{layout.RESULT_FILE}"):
        settled(path)
    store = FileStore(run)
    with store.write("test") as writer:
        for effect in writer.state.resolved:
            store.result(effect)


def refusals(run: Path) -> list[str]:
    """What each way of reading says of the results."""
    found = []
    for is_read in (True, False):
        reader = FileReader(run)
        effects = reader.state().resolved
        with pytest.raises(JournalBroken) as caught:
            list(map(reader.result, effects)) if is_read else reader.verify_results(effects)
        found.append(caught.value.message)
    return found


@pytest.mark.parametrize("is_verified", [False, True], ids=["new", "verified before"])
@pytest.mark.parametrize("name", VALUES)
def test_a_changed_result_is_refused_by_its_name(tmp_path: Path, name: str, *, is_verified: bool) -> None:
    run = posted(tmp_path, VALUES[name])
    if is_verified:
        verified(run)
    path = run / layout.TASKS / "E2" / layout.RESULT_FILE
    path.write_bytes(path.read_bytes().replace(b"ok", b"OK", 1))
    assert all(str(path) in refusal and "was changed" in refusal for refusal in refusals(run))


@pytest.mark.parametrize("is_verified", [False, True], ids=["new", "verified before"])
def test_a_changed_blob_is_refused_by_its_name(tmp_path: Path, *, is_verified: bool) -> None:
    run = posted(tmp_path, "x" * 1_100_000)
    if is_verified:
        verified(run)
    (blob,) = (run / layout.TASKS / "E2" / layout.BLOBS).iterdir()
    blob.write_bytes(blob.read_bytes().replace(b"x", b"y", 1))
    assert all(str(blob) in refusal for refusal in refusals(run))


def test_a_changed_error_is_refused_by_its_name(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        writer.resolve("E2", failure("ExitError", "exit 1"))
    path = run / layout.TASKS / "E2" / layout.RESULT_FILE
    path.write_bytes(path.read_bytes().replace(b"exit 1", b"exit 0"))
    assert all(str(path) in refusal for refusal in refusals(run))


@pytest.mark.parametrize("is_verified", [False, True], ids=["new", "verified before"])
def test_a_missing_result_is_refused_by_its_name(tmp_path: Path, *, is_verified: bool) -> None:
    run = posted(tmp_path, 1)
    if is_verified:
        verified(run)
    path = run / layout.TASKS / "E2" / layout.RESULT_FILE
    path.unlink()
    assert all(str(path) in refusal for refusal in refusals(run))


def test_a_changed_task_and_changed_inputs_of_it_are_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        writer.request(make_request("E3", 3, inputs={"big": "x" * 1_100_000}))
    effects = FileReader(run).state().effects
    (blob,) = (run / layout.TASKS / "E3" / layout.BLOBS).iterdir()
    for path, effect in ((blob, effects["E3"]), (run / layout.TASKS / "E2" / layout.TASK_FILE, effects["E2"])):
        path.write_bytes(path.read_bytes().replace(b"A title", b"B title").replace(b"xx", b"yy", 1))
        with pytest.raises(JournalBroken, match=f"{path} of this run is invalid: it was changed"):
            FileReader(run).task(effect)


def test_a_verified_result_comes_from_the_cache_and_a_touched_file_is_read_again(tmp_path: Path) -> None:
    run = posted(tmp_path, {"said": "two"})
    verified(run)
    packed = read_pack.read_all(run / PACK, FileReader(run).load)
    assert sorted(packed.stamps) == ["E1", "E2"]
    store = FileStore(run)
    os.utime(run / layout.TASKS / "E2" / layout.RESULT_FILE)
    with store.write("test") as writer:
        store.verify_results(writer.state.resolved)
    again = read_pack.read_all(run / PACK, FileReader(run).load)
    assert again.stamps["E1"] == packed.stamps["E1"]
    assert FileReader(run).result(FileReader(run).state().effects["E2"]).value == {"said": "two"}


def test_a_file_that_was_written_a_moment_ago_is_not_trusted_by_its_stamp(tmp_path: Path) -> None:
    run = posted(tmp_path, "one")
    store = FileStore(run)
    with store.write("test") as writer:
        store.verify_results(writer.state.resolved)
    stamps = read_pack.read_all(run / PACK, FileReader(run).load).stamps.values()
    now = time.time_ns()
    assert all(now - changed > folder_names.SETTLED_NANOSECONDS for _, _, changed in stamps)


def test_changed_inputs_and_a_changed_output_of_a_run_are_refused(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("test") as writer:
        writer.append("RUN_COMPLETED", {"outputRef": writer.write_output({"sum": 3})})
    output = run / layout.OUTPUT_REF
    output.write_bytes(output.read_bytes().replace(b"3", b"4"))
    reader = FileReader(run)
    with pytest.raises(JournalBroken, match=str(output)):
        reader.output(reader.state().ended)


class SummaryReader(FileReader):
    """A reader that must not need the full state."""

    def state(self) -> State:
        raise AssertionError("the full state was read")


def test_a_summary_with_verified_results_needs_no_full_state(tmp_path: Path) -> None:
    run = posted(tmp_path, {"said": ["r", "v", "l"], "too": [["r", 1], ["v", 2]]})
    verified(run)
    assert SummaryReader(run).verified_position().seq == FileReader(run).position().seq


@pytest.mark.parametrize("is_removed", [False, True], ids=["changed", "removed"])
@pytest.mark.parametrize("is_verified", [False, True], ids=["new", "verified before"])
@pytest.mark.parametrize("name", VALUES)
def test_a_summary_refuses_a_changed_result(tmp_path: Path, name: str, *, is_verified: bool, is_removed: bool) -> None:
    run = posted(tmp_path, VALUES[name])
    if is_verified:
        verified(run)
    path = run / layout.TASKS / "E2" / layout.RESULT_FILE
    path.unlink() if is_removed else path.write_bytes(path.read_bytes().replace(b"ok", b"OK", 1))
    with pytest.raises(JournalBroken, match=str(path)):
        FileReader(run).verified_position()


def test_a_summary_refuses_a_changed_result_that_is_newer_than_the_pack(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    verified(run)
    pack = (run / PACK).read_bytes()
    with FileStore(run).write("test") as writer:
        writer.resolve("E2", ok("new"))
    (run / PACK).write_bytes(pack)
    path = run / layout.TASKS / "E2" / layout.RESULT_FILE
    path.write_bytes(path.read_bytes().replace(b"new", b"NEW"))
    with pytest.raises(JournalBroken, match=str(path)):
        FileReader(run).verified_position()


def test_a_summary_refuses_a_changed_result_whose_entry_is_too_large_for_the_pack(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    verified(run)
    with FileStore(run).write("test") as writer:
        writer.resolve("E2", failure("ExitError", "exit 1" + "x" * write_pack.LINE_LIMIT_BYTES))
    assert FileReader(run).verified_position().seq == 5
    path = run / layout.TASKS / "E2" / layout.RESULT_FILE
    path.write_bytes(path.read_bytes().replace(b"exit 1", b"exit 0"))
    with pytest.raises(JournalBroken, match=str(path)):
        FileReader(run).verified_position()
