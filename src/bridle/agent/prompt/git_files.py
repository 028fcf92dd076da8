"""Reads branches and worktrees from the files of a git repository, without running git."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.ground.git_folder import common_folder, git_folder, repository_top

# The branch name outside a repository and with a detached HEAD.
NO_BRANCH = "HEAD"

_MAINS = ("main", "master")


def list_worktrees(top: Path) -> list[Path]:
    """Return the top directories of all worktrees of the repository, the given one first."""
    shared = _shared(top)
    tops = [top, shared.parent] if shared.name == ".git" else [top]
    for marker in sorted(shared.glob("worktrees/*/gitdir")):
        if text := _read(marker):
            tops.append(Path(text).parent)
    return list(dict.fromkeys(tops))


def current_branch(cwd: Path) -> str:
    """Return the branch that is checked out."""
    top = repository_top(cwd)
    own = None if top is None else git_folder(top)
    head = "" if own is None else _read(Path(own, "HEAD"))
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head else NO_BRANCH


def main_branch(top: Path) -> str:
    shared = _shared(top)
    head = _read(shared / "refs/remotes/origin/HEAD")
    if head.startswith("ref: refs/remotes/origin/"):
        return head.removeprefix("ref: refs/remotes/origin/")
    packed = _read(shared / "packed-refs").splitlines()
    for name in _MAINS:
        ref = f"refs/heads/{name}"
        if (shared / ref).exists() or any(line.endswith(f" {ref}") for line in packed):
            return name
    return _MAINS[0]


def _shared(top: Path) -> Path:
    """Return the folder that all worktrees share."""
    return Path(os.path.normpath(common_folder(git_folder(top) or f"{top}/.git")))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
