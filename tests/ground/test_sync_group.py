"""What a group has written is synced by threads that are used again; the error of one is raised."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bridle.errors import DiskError
from bridle.ground import disk, sync_group
from bridle.ground.light.quick_path import Path as QuickPath
from bridle.ground.sync_group import SyncGroup

LIMIT_SECONDS = 30.0


def write_group(folder: Path, number: int) -> None:
    """Write and sync two files and a folder."""
    with SyncGroup() as group:
        group.write_atomic(QuickPath(str(folder)) / "a", b"%d" % number)
        group.write_new(QuickPath(str(folder)) / f"new-{number}", b"")
        group.sync()


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads that have called fsync."""
    threads: list[int] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        threads.append(threading.get_ident())
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    return threads


def test_threads_are_used_again(tmp_path: Path, synced: list[int]) -> None:
    for number in range(20):
        write_group(tmp_path, number)
    assert len(synced) == 60, "two files and a folder in each group"
    assert len(set(synced)) <= 5, "this thread, and those that were idle; one more may have started before one was"
    assert (tmp_path / "a").read_bytes() == b"19"


def test_groups_of_several_threads_do_not_mix(tmp_path: Path, synced: list[int]) -> None:
    def work(name: str) -> None:
        (tmp_path / name).mkdir()
        for number in range(20):
            write_group(tmp_path / name, number)

    workers = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LIMIT_SECONDS)
    assert len(synced) == 4 * 60


def test_an_error_is_raised_and_its_thread_is_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_group(tmp_path, 0)
    with monkeypatch.context() as patch:
        patch.setattr(disk, "_sync_folder", lambda _folder: (_ for _ in ()).throw(OSError(5, "broken")))
        with pytest.raises(DiskError, match="could not be synced: broken"):
            write_group(tmp_path, 1)
    write_group(tmp_path, 2)


def test_an_idle_thread_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync_group, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(sync_group, "_idle", [])
    for number in range(50):  # some are chosen at the moment when they end
        write_group(tmp_path, number)
    deadline = threading.Event()
    for _ in range(3000):
        if not sync_group._idle:
            return
        deadline.wait(0.01)
    pytest.fail("an idle thread is still there")


def test_a_fork_and_an_exit_need_none_of_the_threads(tmp_path: Path) -> None:
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from tests.ground.test_sync_group import write_group
write_group(Path({str(tmp_path)!r}), 1)
child = os.fork()
write_group(Path({str(tmp_path)!r}), 2 if child else 3)
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=LIMIT_SECONDS)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "new-1", "new-2", "new-3"}
