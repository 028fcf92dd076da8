"""Move what is checked out to another commit without starting git, as `git update-ref` does: lock, reflogs, rename.

Only the branch of a run and the detached HEAD of a worktree are moved: a driver that is killed here leaves a lock that
the next one removes. Any other case raises NeedsGit without a change, and git decides: another branch, no loose ref, no
reflog, another commit, a lock.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bridle.ground import disk
from bridle.workspace.git_folder.read_git_files import ID, NeedsGit, git_folders, has_loose_object, read_head
from bridle.workspace.git_folder.write_git_files import replace_under_lock, write_line

_BRANCH = re.compile(r"refs/heads/bridle/(?!.*(?:\.\.|//|/$|/\.|\.lock(?:/|$)))[A-Za-z0-9][A-Za-z0-9._/+-]*")
_LINE_LIMIT_BYTES = 4096
# What git takes as space in the message of a reflog, in which it is one blank: no other character of Unicode.
_SPACE = re.compile(r"[ \t\n\r]+")


class Move(NamedTuple):
    """Where a ref goes, and what its reflogs say."""

    commit: str
    committer: str
    """Name, address and time."""
    why: str


def move_branch(top: Path, name: str, move: Move, *, old: str | None) -> None:
    """Move the branch of a run, which is checked out and at the commit `old`."""
    own, shared = git_folders(top)
    path = f"{shared}/{name}"
    if old is None or not _BRANCH.fullmatch(name) or not has_loose_object(top, move.commit):
        raise NeedsGit
    if os.path.islink(path) or not os.path.isfile(path):
        raise NeedsGit

    def read() -> str:
        if disk.read_bounded(path, _LINE_LIMIT_BYTES) != f"{old}\n".encode("ascii"):
            raise NeedsGit
        return old

    _replace(path, [f"{shared}/logs/{name}", f"{own}/logs/HEAD"], move, read)


def move_detached_head(top: Path, move: Move, *, old: str | None) -> None:
    """Move the detached HEAD of a worktree, which is at the commit `old`, or at any."""
    own, shared = git_folders(top)
    if own == shared or not re.fullmatch(ID, move.commit) or os.path.islink(f"{own}/logs"):
        raise NeedsGit

    def read() -> str:
        now = read_head(top)
        if not re.fullmatch(ID, now) or old not in (None, now):
            raise NeedsGit
        return now

    _replace(f"{own}/HEAD", [f"{own}/logs/HEAD"], move, read)


def _replace(path: str, logs: list[str], move: Move, read: Callable[[], str]) -> None:
    """Write a ref under its lock, durably, and its reflogs; `read` returns its commit, or raises NeedsGit."""
    with replace_under_lock(Path(path)) as fd:
        old = read()
        write_line(fd, move.commit)
        _append(logs, _reflog_line(old, move))


def _reflog_line(old: str, move: Move) -> bytes:
    why = _SPACE.sub(" ", move.why).strip(" ")
    line = f"{old} {move.commit} {move.committer}" + (f"\t{why}\n" if why else "\n")
    return line.encode("utf-8", "surrogateescape")


def _append(logs: list[str], line: bytes) -> None:
    """Append a line to each of the reflogs; or to none where one is missing, or a link that an agent may have made."""
    opened: list[int] = []
    try:
        for log in logs:
            opened.append(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK))
            facts = os.fstat(opened[-1])
            if not stat.S_ISREG(facts.st_mode) or facts.st_nlink != 1:
                raise NeedsGit
        for fd in opened:
            disk.append_line(fd, line)
    finally:
        for fd in opened:
            os.close(fd)
