from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridle.errors import DiskError, LockHeld
from bridle.ground.lock import FileLock, Holder

HOLD = """
import sys, pathlib
from bridle.ground.lock import FileLock
with FileLock.hold(pathlib.Path(sys.argv[1]), holder="night run"):
    print("held", flush=True)
    sys.stdin.readline()
print("free", flush=True)
sys.stdin.readline()
"""


@contextmanager
def other_holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_who_holds_it_is_seen_without_taking_it_and_what_a_killed_one_left_stays(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert FileLock.holder_of(path) is None
    assert not path.exists()
    with other_holder(path) as process:
        found = FileLock.holder_of(path)
        assert found is not None
        assert (found.pid, found.name) == (process.pid, "night run")
        process.kill()
        process.wait()
        assert FileLock.holder_of(path) is None
    with FileLock.hold(path, holder="me") as lock:
        assert lock.predecessor is not None
        assert lock.predecessor.pid == process.pid
        mine = FileLock.holder_of(path)
        assert mine is not None
        assert mine.name == "me"
    assert FileLock.holder_of(path) is None


def test_a_second_process_is_refused_with_the_name_of_the_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other_holder(path) as process:
        with pytest.raises(LockHeld) as caught:
            FileLock.hold(path, holder="me")
        assert f"held by night run (process {process.pid}, since 20" in caught.value.message
        assert caught.value.remedy is not None
        assert isinstance(caught.value.payload, Holder)
        assert caught.value.payload.pid == process.pid


def test_the_lock_of_a_killed_holder_is_free_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other_holder(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=10)
        with FileLock.hold(path, holder="me"):
            assert json.loads(path.read_text())["pid"] == os.getpid()


def test_who_waits_gets_the_lock_when_it_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with other_holder(path) as process:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
        with FileLock.hold(path, holder="me", wait_seconds=30):
            assert process.poll() is None


def test_a_wait_that_is_over_ends_in_a_refusal(tmp_path: Path) -> None:
    with (
        other_holder(tmp_path / "lock"),
        pytest.raises(LockHeld),
    ):
        FileLock.hold(tmp_path / "lock", holder="me", wait_seconds=0.12)


def test_two_holds_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock.hold(path, holder="first"), pytest.raises(LockHeld, match="held by first"):
        FileLock.hold(path, holder="second")
    FileLock.hold(path, holder="second").release()


def test_the_file_stays_and_no_longer_names_a_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock.hold(path, holder="me")
    lock.release()
    lock.release()
    assert path.read_bytes() == b""


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock.hold(path, holder="me")
    with subprocess.Popen(["sleep", "60"], close_fds=False) as child:
        lock.release()
        FileLock.hold(path, holder="again").release()
        child.kill()


def test_a_lock_that_outlives_us_is_free_when_it_is_released(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for _ in range(3):
        with FileLock.hold(path, holder="me") as lock:
            lock.hold_until_agents_end()
            with pytest.raises(LockHeld, match="held by me"):
                FileLock.hold(path, holder="other")
    FileLock.hold(path, holder="other").release()


def test_a_removed_lock_file_does_not_let_two_in(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_bytes(b"")
    with FileLock.hold(path, holder="first"):
        path.unlink()
        with FileLock.hold(path, holder="second"), pytest.raises(LockHeld, match="held by second"):
            FileLock.hold(path, holder="third")


def test_a_lock_file_that_is_removed_while_it_is_locked_is_not_the_lock(tmp_path: Path) -> None:
    path, lock_file = tmp_path / "lock", fcntl.flock
    removed: list[Path] = []

    def remove_first(fd: int, operation: int) -> None:
        if not removed:
            removed.append(path)
            path.unlink()
        lock_file(fd, operation)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", remove_first)
        first = FileLock.hold(path, holder="first")
    with first, pytest.raises(LockHeld, match="held by first"):
        FileLock.hold(path, holder="second")


def test_a_holder_that_left_no_note_is_still_refused_clearly(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock.hold(path, holder="me"):
        path.write_bytes(b"{torn")
        with pytest.raises(LockHeld, match="is locked by an unknown process"):
            FileLock.hold(path, holder="other")


def test_what_cannot_be_a_lock_is_a_disk_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "link", tmp_path / "gone" / "lock", tmp_path / "pipe", tmp_path):
        with pytest.raises(DiskError, match=re.escape(str(path))):
            FileLock.hold(path, holder="me")
    assert not (tmp_path / "elsewhere").exists()
