"""While Bridle writes objects that no ref names yet, no `git gc` runs; one that may remove them is waited for."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridle.workspace import gc_lock, snapshot
from bridle.workspace.git import Git
from tests.workspace.fixtures.repositories import git, make_repository, write

HELD_FOR_EVER = """
import asyncio, sys
from pathlib import Path
from bridle.workspace import gc_lock
from bridle.workspace.git import Git
async def main():
    async with gc_lock.hold(Git(Path(sys.argv[1]))):
        print("held", flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


def collect(repo: Git) -> tuple[int, str]:
    words = ["git", "gc", "-q", "--prune=now"]
    done = subprocess.run(words, cwd=repo.folder, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


def write_blob(repo: Git) -> str:
    write(repo.folder, {"ignored/blob": "in no tree"})
    return git(repo.folder, "hash-object", "-w", "ignored/blob").strip()


def has_object(repo: Git, name: str) -> bool:
    words = ["git", "cat-file", "-e", name]
    return subprocess.run(words, cwd=repo.folder, capture_output=True, timeout=60, check=False).returncode == 0


def test_no_garbage_is_collected_while_the_lock_is_held(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")

    async def hold() -> None:
        async with gc_lock.hold(repo), gc_lock.hold(repo):
            blob = write_blob(repo)
            code, said = collect(repo)
            assert code == 128
            assert f"gc is already running on machine '{socket.gethostname()}' pid {os.getpid()}" in said
            assert has_object(repo, blob)
            async with gc_lock.released():
                assert collect(repo) == (0, "")
                assert not has_object(repo, blob)
            assert collect(repo)[0] == 128
        assert collect(repo) == (0, "")

    asyncio.run(hold())
    assert not (repo.folder / ".git/gc.pid").exists()


def test_tasks_share_the_lock(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    found = []

    async def hold(seconds: float) -> None:
        async with gc_lock.hold(repo):
            await asyncio.sleep(seconds)
            found.append(collect(repo)[0])

    async def both() -> None:
        await asyncio.gather(hold(0), hold(0.2))

    asyncio.run(both())
    assert found == [128, 128]
    assert collect(repo)[0] == 0


def test_a_collection_between_the_objects_of_a_snapshot_and_its_ref_removes_nothing(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    git(repo.folder, "config", "core.sharedRepository", "group")  # git itself writes such objects and refs
    real, codes = shutil.which("git"), tmp_path / "codes"
    script = (
        f'#!/bin/sh\ncase $1 in update-ref) {real} gc -q --prune=now; echo $? >> {codes};; esac\nexec {real} "$@"\n'
    )
    write(tmp_path, {"bin/git": script})
    (tmp_path / "bin/git").chmod(0o755)
    write(repo.folder, {"a.txt": "changed\n", "new": "new\n"})
    collecting = Git(repo.folder, {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"})
    taken = asyncio.run(snapshot.take(collecting))
    assert codes.read_text() == "128\n"
    assert git(repo.folder, "show", f"{taken.ref}:new") == "new\n"
    assert collect(repo) == (0, "")
    assert git(repo.folder, "show", f"{taken.ref}:new") == "new\n"


@contextmanager
def running(repo: Git, *words: str, seconds: float) -> Iterator[None]:
    """Let a process that is called git hold the lock for some time."""
    end = f"import os, time; time.sleep({seconds}); os.unlink({str(repo.folder / '.git/gc.pid')!r})"
    child = subprocess.Popen(["git", "-c", end, *words], executable=sys.executable)
    (repo.folder / ".git/gc.pid").write_text(f"{child.pid} {socket.gethostname()}")
    try:
        yield
    finally:
        child.kill()
        child.wait()


async def is_held(repo: Git) -> bool:
    async with gc_lock.hold(repo):
        held = repo.folder / ".git/gc.pid"
        return held.exists() and held.read_text().split()[0] == str(os.getpid())


def test_a_collection_that_may_prune_new_objects_is_waited_for(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    with running(repo, "gc", "--prune=now", seconds=0.5):
        assert asyncio.run(is_held(repo))
    with running(repo, "gc", seconds=60):
        assert not asyncio.run(is_held(repo))
    git(repo.folder, "config", "gc.pruneExpire", "now")
    with running(repo, "gc", seconds=0.5):
        assert asyncio.run(is_held(Git(repo.folder)))


def test_the_lock_of_a_program_that_is_no_git_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repository(tmp_path / "r")
    monkeypatch.setattr(gc_lock, "OTHER_SECONDS", 0.2)
    lock = repo.folder / ".git/gc.pid"
    lock.write_text(f"{os.getppid()} {socket.gethostname()}")
    assert not asyncio.run(is_held(repo))
    monkeypatch.setattr(gc_lock, "OTHER_SECONDS", 600)
    assert not asyncio.run(is_held(repo))
    lock.write_text(f"{os.getppid()} another-machine")
    assert not asyncio.run(is_held(repo))
    assert lock.read_text() == f"{os.getppid()} another-machine"


def test_a_killed_holder_blocks_neither_git_nor_the_next_holder(tmp_path: Path) -> None:
    repo = make_repository(tmp_path / "r")
    lock = repo.folder / ".git/gc.pid"
    for collects in (True, False):
        words = [sys.executable, "-c", HELD_FOR_EVER, str(repo.folder)]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"held\n"
            child.send_signal(signal.SIGKILL)
        assert lock.exists()
        if collects:
            assert collect(repo) == (0, "")
        assert asyncio.run(is_held(repo))
        assert not lock.exists()
    lock.write_text(f"{os.getpid()} {socket.gethostname()}")  # of a killed process that had the id of this one
    assert asyncio.run(is_held(repo))


def test_a_lock_file_that_a_killed_git_left_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repository(tmp_path / "r")
    (repo.folder / ".git/gc.pid.lock").write_text("")
    for seconds in (0.2, 600):
        monkeypatch.setattr(gc_lock, "OTHER_SECONDS", seconds)
        assert not asyncio.run(is_held(repo))
    assert not (repo.folder / ".git/gc.pid").exists()


def test_a_folder_that_cannot_be_written_or_is_no_repository_is_no_obstacle(tmp_path: Path) -> None:
    async def hold(folder: Path) -> None:
        async with gc_lock.hold(Git(folder)):
            pass

    asyncio.run(hold(tmp_path))
    repo = make_repository(tmp_path / "r")
    (repo.folder / ".git/gc.pid.lock").write_text("")  # a git begins at this moment, and does not go on
    (repo.folder / ".git/gc.pid").mkdir()
    asyncio.run(hold(repo.folder))
