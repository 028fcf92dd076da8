"""The files that the output of this process goes to, as in `bridle run PLAN.md > run.log`.

One that is untracked in a working copy is in no snapshot, and no restore changes it: it grows while we work.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from bridle.workspace.git import Git


async def untracked_output(git: Git) -> tuple[str, ...]:
    """Return the untracked files of a working copy that our output goes to, as the first call found them.

    An agent that adds such a file to git does not change the answer.
    """
    if git.own_output is None:
        names = output_files(git.folder)
        tracked = await git.names("ls-files", "-z", "--", *(f":(top,literal){name}" for name in names)) if names else ()
        git.own_output = tuple(name for name in names if name not in tracked)
    return git.own_output


def output_files(folder: Path) -> list[str]:
    """Return the files below a folder that stdout and stderr are open on, as paths from there."""
    top = os.path.realpath(folder)
    paths = dict.fromkeys(path for descriptor in (1, 2) if (path := _path_of(descriptor)) is not None)
    return [os.path.relpath(path, top) for path in paths if path.startswith(f"{top}/")]


def _path_of(descriptor: int) -> str | None:
    """Return the path of the regular file that a descriptor is open on; None for other descriptors."""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        path = _read_path(descriptor)
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return path if (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino) else None


def _read_path(descriptor: int) -> str:
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")
