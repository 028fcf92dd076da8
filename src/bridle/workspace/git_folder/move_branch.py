"""Point the branch of a run to a new commit without starting git, as `git update-ref` does: lock, reflogs, rename."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace.git_folder.read_git_files import NeedsGit, git_folders, has_loose_object

# Branches of runs: a driver that is killed here leaves a lock, which the next one removes. A git would work on.
_BRANCH = re.compile(r"refs/heads/bridle/(?!.*(?:\.\.|//|/$|/\.|\.lock(?:/|$)))[A-Za-z0-9][A-Za-z0-9._/+-]*")
_LINE_LIMIT_BYTES = 4096


def move_branch(top: Path, name: str, commit: str, *, old: str, who: str, why: str) -> None:
    """Point the branch of a run, which is checked out, to another commit, durably; `who` and `why` are for the reflogs.

    Raise NeedsGit, without a change, where git must decide: another branch, no loose ref, no reflogs, another commit, a
    lock.
    """
    own, shared = git_folders(top)
    path = f"{shared}/{name}"
    if not _BRANCH.fullmatch(name) or not has_loose_object(top, commit):
        raise NeedsGit
    if os.path.islink(path) or not os.path.isfile(path):
        raise NeedsGit
    line = f"{old} {commit} {who}\t{' '.join(why.split())}\n".encode("utf-8", "surrogateescape")
    lock = Path(f"{path}.lock")
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise NeedsGit from error
    try:
        try:
            if disk.read_bounded(path, _LINE_LIMIT_BYTES) != f"{old}\n".encode("ascii"):
                raise NeedsGit
            disk.write_all(fd, f"{commit}\n".encode("ascii"))
            disk.sync(fd)
        finally:
            os.close(fd)
        _append([f"{shared}/logs/{name}", f"{own}/logs/HEAD"], line)
        disk.move(lock, Path(path))
    except BaseException as error:
        with suppress(OSError):
            lock.unlink()
        if isinstance(error, (DiskError, OSError)):
            raise NeedsGit from error
        raise


def _append(logs: list[str], line: bytes) -> None:
    """Append a line to each of the reflogs, or to none of them: git writes those that are missing or links."""
    opened: list[int] = []
    try:
        for log in logs:
            opened.append(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))
            if not stat.S_ISREG(os.fstat(opened[-1]).st_mode):
                raise NeedsGit
        for fd in opened:
            disk.append_line(fd, line)
    finally:
        for fd in opened:
            os.close(fd)
