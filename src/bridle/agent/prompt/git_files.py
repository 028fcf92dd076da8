"""What a git repository tells by its own files, without starting git."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.ground.git_folder import common_folder, git_folder, repository_top

# What programs find in the place of a branch where there is none: no repository, or a commit checked out by itself.
NO_BRANCH = "HEAD"

_MAINS = ("main", "master")


def list_worktrees(top: Path) -> list[Path]:
    """The tops of all working copies that share the repository, the given one first."""
    shared = _shared(top)
    found = [top, shared.parent] if shared.name == ".git" else [top]
    for marker in sorted(shared.glob("worktrees/*/gitdir")):
        if text := _read(marker):
            found.append(Path(text).parent)
    return list(dict.fromkeys(found))


def current_branch(cwd: Path) -> str:
    """The branch that is checked out."""
    top = repository_top(cwd)
    own = None if top is None else git_folder(top)
    head = "" if own is None else _read(Path(own, "HEAD"))
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head else NO_BRANCH


def main_branch(top: Path) -> str:
    """The branch that others build on."""
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
