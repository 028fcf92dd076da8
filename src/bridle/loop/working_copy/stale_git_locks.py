"""Locks that git leaves behind when it is killed: with its agent, or with Bridle. Nobody else would remove them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from bridle.ground import clock
from bridle.ground.descendants import census
from bridle.ground.git_folder import find_common_folder, git_folder
from bridle.workspace.ref_lock import mark

# A git of the person's holds a lock for moments; one that is still there after this has no holder, or waits for an
# editor, and then its process is there.
WAIT_SECONDS = 3.0
POLL_SECONDS = 0.05
# Refs that Bridle itself makes: branches of runs, work that is kept.
_REFS = ("refs/heads/bridle", "refs/bridle")
# There are two for each iteration, so they are not gone through after each; whoever writes one sees to its own lock.
_SNAPSHOTS = "snapshots"
_NAMES = ("index.lock", "HEAD.lock", "config.lock", "packed-refs.lock", "ORIG_HEAD.lock")


async def clear(folder: Path, *, among_snapshots: bool = False) -> list[str]:
    """Remove the locks on a working copy and its repository whose holders are dead; gives their names."""
    found = _locks(folder, among_snapshots=among_snapshots)
    if not found:
        return []
    deadline = clock.monotonic() + WAIT_SECONDS
    while (left := {path: one for path, one in found.items() if mark(path) == one}) and clock.monotonic() < deadline:
        await asyncio.sleep(POLL_SECONDS)
    if not left or await asyncio.to_thread(_is_git_at_work, folder):
        return []
    for path in left:
        path.unlink(missing_ok=True)
    return sorted(path.name for path in left)


def _locks(folder: Path, *, among_snapshots: bool) -> dict[Path, tuple[int, int]]:
    common, own = find_common_folder(folder), git_folder(folder)
    places = {Path(place) for place in (common, own) if place is not None}
    left_out = "" if among_snapshots else _SNAPSHOTS
    refs = [] if common is None else [path for top in _REFS for path in _ref_locks(common / top, left_out)]
    paths = [*(place / name for place in places for name in _NAMES), *refs]
    return {path: one for path in paths if (one := mark(path)) is not None}


def _ref_locks(top: Path, left_out: str) -> Iterator[Path]:
    for root, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != left_out]
        yield from (Path(root, name) for name in names if name.endswith(".lock"))


def _is_git_at_work(folder: Path) -> bool:
    """Whether a git works in that repository, as far as this machine tells."""
    top = os.path.realpath(folder)
    for entry in census.take().values():
        if entry.is_alive and entry.name == "git":
            try:
                where = os.readlink(f"/proc/{entry.pid}/cwd")
            except FileNotFoundError:
                if os.path.isdir("/proc/self"):
                    continue  # it has ended meanwhile
                return True
            except OSError:
                return True  # somebody else's, or a machine that does not tell
            if os.path.commonpath((top, where)) == top:
                return True
    return False
