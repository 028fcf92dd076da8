"""A writer's turn: the kernel's lock, and the locks and leftovers of another implementation."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from bridle.errors import LockHeld, RunNotFound
from bridle.ground.light.moments import iso
from bridle.ground.lock import FileLock
from bridle.journal.format import layout
from bridle.journal.stores import write_lock
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.write_lock import is_alive
from tests.journal.fixtures.journal_writes import append, new_run
from tests.journal.fixtures.recorded_samples import contents
from tests.journal.fixtures.run_metadata import change_metadata
from tests.run.fixtures.fake_agent import wait_until

# A hang is a failure; a start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
# Long enough to be seen waiting, short enough not to hold anybody up.
SHORT_WAIT_SECONDS = 0.05


@contextmanager
def living() -> Iterator[subprocess.Popen[str]]:
    """A process that lives until it is told to end."""
    command = [sys.executable, "-c", "import sys; sys.stdin.readline()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def foreign_lock(run: Path, pid: object, acquired_at: str | None = None) -> Path:
    """A lock as another implementation writes it."""
    path = run / layout.FOREIGN_LOCK_FILE
    acquired_at = acquired_at or iso(time.time_ns())
    note = {"pid": pid, "owner": "runtime:commitEffectResult", "acquiredAt": acquired_at}
    path.write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")
    return path


def test_a_lock_that_is_older_than_the_process_with_its_number_is_passed_over(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with living() as process:
        lock = foreign_lock(run, process.pid)
        written = lock.stat().st_mtime - 3600
        os.utime(lock, (written, written))
        with FileStore(run).write("test", wait_seconds=SHORT_WAIT_SECONDS) as writer:
            writer.append("BRIDLE_NOTE", {})
        os.utime(lock)
        with pytest.raises(LockHeld):
            FileStore(run).write("test", wait_seconds=SHORT_WAIT_SECONDS).__enter__()


def test_a_lock_that_seems_a_moment_older_than_its_process_is_respected(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with living() as process:
        ticks = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / os.sysconf("SC_CLK_TCK")
        written = started - write_lock.CLOCK_ERROR_SECONDS / 2
        os.utime(foreign_lock(run, process.pid), (written, written))
        with pytest.raises(LockHeld):
            FileStore(run).write("test", wait_seconds=SHORT_WAIT_SECONDS).__enter__()


def test_a_copied_lock_that_was_taken_before_the_process_with_its_number_started_is_passed_over(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with living() as process:
        foreign_lock(run, process.pid, "2026-01-01T00:00:00.000Z")  # the file itself is new
        with FileStore(run).write("test", wait_seconds=SHORT_WAIT_SECONDS) as writer:
            writer.append("BRIDLE_NOTE", {})
        foreign_lock(run, process.pid, "garbage")
        with pytest.raises(LockHeld):
            FileStore(run).write("test", wait_seconds=SHORT_WAIT_SECONDS).__enter__()


def test_another_implementation_that_writes_is_waited_for_and_then_named_and_nothing_changes(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run / layout.LOCK_FILE).unlink()
    with living() as process:
        foreign_lock(run, process.pid)
        before = contents(run)
        with pytest.raises(LockHeld) as caught:
            FileStore(run).write("test", wait_seconds=SHORT_WAIT_SECONDS).__enter__()
        assert contents(run) == before
    assert f"held by process {process.pid} (runtime:commitEffectResult)" in caught.value.message


def test_when_the_other_one_is_done_the_waiting_writer_gets_its_turn(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with living() as process:
        path = foreign_lock(run, process.pid)
        command = [sys.executable, "-c", "import sys, os; sys.stdin.readline(); os.unlink(sys.argv[1])", str(path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as releaser:
            assert releaser.stdin is not None
            releaser.stdin.write("now\n")
            releaser.stdin.flush()
            with FileStore(run).write("test", wait_seconds=LIMIT_SECONDS) as writer:
                assert writer.append("BRIDLE_X", {}).seq == 5
            assert not path.exists()


def test_another_implementation_that_begins_while_we_wait_for_our_own_lock_is_waited_for(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    taken: list[FileLock] = []
    thread = Thread(target=lambda: taken.append(write_lock.take(run, "test", wait_seconds=LIMIT_SECONDS)))

    def executes(function: str) -> bool:
        frames = traceback.walk_stack(sys._current_frames().get(thread.ident or 0))
        return not thread.is_alive() or any(frame.f_code.co_name == function for frame, _ in frames)

    with living() as process:
        with write_lock.take(run, "first", wait_seconds=0):
            thread.start()
            wait_until(lambda: executes(FileLock.hold.__name__))
            foreign_lock(run, process.pid)
        wait_until(lambda: executes("_wait_for_others"))
        assert (thread.is_alive(), taken) == (True, [])
    thread.join()
    taken[0].release()


@pytest.mark.parametrize(
    "text",
    ["", "\n", "{", "null", "[]", '{"pid": "12"}', '{"pid": true}', '{"pid": null}', '{"pid": -1}', '{"pid": 1e99}'],
)
def test_a_lock_file_without_an_owner_is_passed_over(text: str, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run / layout.FOREIGN_LOCK_FILE).write_text(text, encoding="utf-8")
    with FileStore(run).write("test", wait_seconds=0) as writer:
        writer.append("BRIDLE_X", {})
    assert (run / layout.FOREIGN_LOCK_FILE).read_text(encoding="utf-8") == text


def test_the_lock_of_a_dead_process_is_passed_over(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with living() as process:
        process.send_signal(signal.SIGKILL)
        process.wait(LIMIT_SECONDS)
    foreign_lock(run, process.pid)
    with FileStore(run).write("test", wait_seconds=0) as writer:
        writer.append("BRIDLE_X", {})


@pytest.mark.parametrize(("pid", "alive"), [(0, False), (-5, False), (2**40, False), (1, True)])
def test_a_number_is_alive_when_a_process_has_it(pid: int, alive: bool) -> None:
    assert is_alive(pid) == alive


def test_our_own_number_in_an_old_lock_is_a_dead_process() -> None:
    assert not is_alive(os.getpid())


def test_a_second_writer_is_informed_which_process_writes(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    with FileStore(run).write("run:iterate"), pytest.raises(LockHeld, match="held by run:iterate"):
        FileStore(run).write("task:post", wait_seconds=0).__enter__()


@pytest.mark.parametrize(
    "name",
    [
        "000003.01M7EB7NK2X29EXB02ZCA0GEZ3.json.tmp-12-1790000000000",
        "000099.01M7EB7NK2X29EXB02ZCA0GEZ3.json.tmp-1-2",
        ".bridle-0123456789abcdef.tmp",
        ".hidden.json",
        "README",
    ],
)
def test_leftovers_in_the_journal_are_passed_over(name: str, tmp_path: Path) -> None:
    run = new_run(tmp_path)
    (run / layout.JOURNAL / name).write_text("half of something", encoding="utf-8")
    append(run)
    assert [entry.seq for entry in FileReader(run).entries()] == [1, 2, 3, 4, 5]
    assert (run / layout.JOURNAL / name).exists()


def test_a_folder_that_is_no_run_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(RunNotFound, match=r"run\.json"):
        FileStore(tmp_path / "nothing").write("test").__enter__()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RunNotFound):
        FileReader(tmp_path).position()


def test_ids_rise_behind_those_of_a_machine_whose_clock_is_ahead(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    newest = max((run / layout.JOURNAL).iterdir())
    ahead = "7" + newest.name.split(".")[1][1:]  # some thousand years from now
    newest.rename(newest.with_name(f"000004.{ahead}.json"))
    append(run)
    append(run)
    entries = list(FileReader(run).entries())
    assert [entry.seq for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert entries[3].ulid == ahead < entries[4].ulid < entries[5].ulid
    with FileStore(run).write("test") as writer:
        assert writer.new_id() > entries[5].ulid


def test_the_harness_of_a_run_precedes_every_entry(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    change_metadata(run, harness="claude-code")
    with FileStore(run).write("test") as writer:
        writer.append("BRIDLE_X", {"n": 1})
        writer.append("BRIDLE_X", {"n": 2, "harness": "its own"})
    data = [list(entry.data.items()) for entry in FileReader(run).entries(after=4)]
    assert data == [[("harness", "claude-code"), ("n", 1)], [("n", 2), ("harness", "its own")]]


def test_files_of_a_run_are_private(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    modes = {path.stat().st_mode & 0o777 for path in run.rglob("*") if path.is_file()}
    folders = {path.stat().st_mode & 0o777 for path in [run, *run.rglob("*")] if path.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})


def test_an_effect_id_that_leads_elsewhere_never_reaches_a_path(tmp_path: Path) -> None:
    from bridle.errors import UsageError

    run = new_run(tmp_path)
    for effect_id in ("../../escaped", "a/b", "..", ""):
        with pytest.raises(UsageError):
            FileReader(run).tasks.path(effect_id)
