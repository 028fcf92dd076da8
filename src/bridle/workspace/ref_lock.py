"""The lock on a ref of ours, left by a Bridle or a git that was killed: only whoever drives a run writes its refs."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.ground import clock
from bridle.workspace import read_git_files
from bridle.workspace.git import Git

# Git itself takes the lock for moments, to pack refs. One that is the same after this long has no holder.
WAIT_SECONDS = 2.0
POLL_SECONDS = 0.05


async def free(git: Git, ref: str) -> None:
    """Remove the lock on a ref of ours that nobody holds any more."""
    try:
        path = read_git_files.lock_of(git.folder, ref)
    except read_git_files.Unclear:
        return  # git keeps its refs in some other way, without such a file
    found = mark(path)
    if found is None:
        return
    deadline = clock.monotonic() + WAIT_SECONDS
    while mark(path) == found:
        if clock.monotonic() > deadline:
            path.unlink(missing_ok=True)
            return
        await asyncio.sleep(POLL_SECONDS)


def mark(path: Path) -> tuple[int, int] | None:
    """What tells one lock from the next of the same name."""
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_mtime_ns
