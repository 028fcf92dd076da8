"""Removes lock files that a killed git left behind; git itself never does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from bridle.ground import clock
from bridle.ground.descendants import census
from bridle.ground.files import files_below
from bridle.ground.git_folder import find_common_folder, git_folder
from bridle.workspace.repair.ref_lock import file_identity

# A running git holds a lock for moments. After this time the lock is stale, or git waits for an editor and its process
# is found.
WAIT_SECONDS = 3.0
POLL_SECONDS = 0.05
# Refs that Bridle creates: branches of runs, kept work.
_REFS = ("refs/heads/bridle", "refs/bridle")
# There are two snapshot refs an iteration, too many to scan after each; their writer clears its own lock.
_SNAPSHOTS = "snapshots"
_NAMES = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "ORIG_HEAD.lock")


async def clear(folder: Path, *, among_snapshots: bool = False) -> list[str]:
    """Remove the stale locks of a working copy and its repository; return their names."""
    locks = _locks(folder, among_snapshots=among_snapshots)
    if not locks:
        return []
    deadline = clock.monotonic() + WAIT_SECONDS
    while (
        stale := {path for path, seen in locks.items() if file_identity(path) == seen}
    ) and clock.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)
    if bool(stale) and await asyncio.to_thread(_is_git_running, folder, find_common_folder(folder)):
        own, common = git_folder(folder), find_common_folder(folder)
        # A git in another worktree locks no file in the folder of this one.
        stale = {path for path in stale if own is not None and path.parent == Path(own) and Path(own) != common}
        if bool(stale) and await asyncio.to_thread(_is_git_running, folder, None):
            return []
    for path in stale:
        path.unlink(missing_ok=True)
    return sorted(path.name for path in stale)


def _locks(folder: Path, *, among_snapshots: bool) -> dict[Path, tuple[int, int]]:
    common, own = find_common_folder(folder), git_folder(folder)
    places = {Path(place) for place in (common, own) if place is not None}
    skipped = "" if among_snapshots else _SNAPSHOTS
    refs = [] if common is None else [path for top in _REFS for path in _ref_locks(common, top, skipped)]
    paths = [*(place / name for place in places for name in _NAMES), *refs]
    return {path: seen for path in paths if (seen := file_identity(path)) is not None}


def _ref_locks(common: Path, top: str, skipped: str) -> Iterator[Path]:
    names = files_below.walk(common, top, skips=skipped)
    return (common / name for name in names if name.endswith(".lock"))


def _is_git_running(folder: Path, common: Path | None) -> bool:
    """Return whether a git process runs in that folder, or in any worktree of its repository, or may do so."""
    top = os.path.realpath(folder)
    for entry in census.take().values():
        if entry.is_alive and entry.name == "git":
            try:
                cwd = os.readlink(f"/proc/{entry.pid}/cwd")
            except FileNotFoundError:
                if os.path.isdir("/proc/self"):
                    continue  # it has exited
                return True
            except OSError:
                return True  # another user's process, or no /proc
            is_below = os.path.commonpath((top, cwd)) == top
            if is_below or (common is not None and find_common_folder(Path(cwd)) == common):
                return True
    return False
