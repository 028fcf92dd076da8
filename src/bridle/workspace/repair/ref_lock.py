"""Remove the lock file of a Bridle ref that a killed process left. Only a run's driver writes its refs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.ground import clock
from bridle.workspace.git import Git
from bridle.workspace.git_folder import read_git_files, write_git_files

# Git holds the lock for moments, to pack refs. One that is the same after this long is stale.
WAIT_SECONDS = 2.0
POLL_SECONDS = 0.05


async def remove_stale(git: Git, ref: str) -> None:
    try:
        path = write_git_files.ref_lock_path(git.folder, ref)
    except read_git_files.NeedsGit:
        return  # refs in another format have no such file
    lock = file_identity(path)
    if lock is None:
        return
    deadline = clock.monotonic() + WAIT_SECONDS
    while file_identity(path) == lock:
        if clock.monotonic() > deadline:
            path.unlink(missing_ok=True)
            return
        await asyncio.sleep(POLL_SECONDS)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from a later one of the same name; None if it is missing."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns
