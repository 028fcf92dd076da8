"""Move the detached HEAD of a worktree as `git update-ref` does, without git: under its lock, with a reflog entry."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace.git_folder.read_git_files import NeedsGit, git_folders, read_head

_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


def move(top: Path, commit: str, *, old: str | None, why: str, committer: str) -> None:
    """Point HEAD to a commit; raise NeedsGit, without a change, where it is not detached, or not at `old`.

    The reflog must exist, as git makes it for each worktree. `committer`: name, address and time.
    """
    own, shared = git_folders(top)
    if own == shared or not _ID.match(commit):
        raise NeedsGit
    lock, path = Path(own, "HEAD.lock"), Path(own, "HEAD")
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise NeedsGit from error  # git reports the lock
    try:
        try:
            now = read_head(top)
            if not _ID.match(now) or old not in (None, now):
                raise NeedsGit
            disk.write_all(fd, f"{commit}\n".encode("ascii"))
            disk.sync(fd)
        finally:
            os.close(fd)
        _append(f"{own}/logs", f"{now} {commit} {committer}\t{' '.join(why.split())}\n")
        disk.move(lock, path)
    except BaseException as error:
        lock.unlink(missing_ok=True)
        if isinstance(error, (DiskError, OSError)):
            raise NeedsGit from error
        raise


def _append(logs: str, line: str) -> None:
    """Append a line to the reflog of HEAD; raise NeedsGit where it is not a file of its own."""
    if os.path.islink(logs):
        raise NeedsGit
    fd = os.open(f"{logs}/HEAD", os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
            raise NeedsGit
        disk.write_all(fd, line.encode("utf-8", "surrogateescape"))
    finally:
        os.close(fd)
