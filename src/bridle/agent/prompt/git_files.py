"""What a git repository tells by its own files, without starting git."""

from __future__ import annotations

import os
from pathlib import Path

# What programs find in the place of a branch where there is none: no repository, or a commit checked out by itself.
NO_BRANCH = "HEAD"

_MAINS = ("main", "master")


def top(cwd: Path) -> Path | None:
    """The top of the repository that a folder is in."""
    for folder in (cwd, *cwd.parents):
        if (folder / ".git").exists():
            return folder
    return None


def worktrees(top: Path) -> list[Path]:
    """The tops of all working copies that share the repository, the given one first."""
    shared = _shared(_own(top))
    found = [top, shared.parent] if shared.name == ".git" else [top]
    for marker in sorted(shared.glob("worktrees/*/gitdir")):
        if text := _read(marker):
            found.append(Path(text).parent)
    return list(dict.fromkeys(found))


def branch(cwd: Path) -> str:
    """The branch that is checked out."""
    above = top(cwd)
    head = "" if above is None else _read(_own(above) / "HEAD")
    name = head.removeprefix("ref: refs/heads/")
    return name if name != head else NO_BRANCH


def main_branch(top: Path) -> str:
    """The branch that others build on."""
    shared = _shared(_own(top))
    head = _read(shared / "refs/remotes/origin/HEAD")
    if head.startswith("ref: refs/remotes/origin/"):
        return head.removeprefix("ref: refs/remotes/origin/")
    packed = _read(shared / "packed-refs").splitlines()
    for name in _MAINS:
        ref = f"refs/heads/{name}"
        if (shared / ref).exists() or any(line.endswith(f" {ref}") for line in packed):
            return name
    return _MAINS[0]


def _own(top: Path) -> Path:
    """Where the working copy keeps its own part of the repository."""
    folder = top / ".git"
    if folder.is_file():  # a worktree or a submodule: the file says where
        return top / _read(folder).removeprefix("gitdir:").strip()
    return folder


def _shared(own: Path) -> Path:
    """Where the part is that all worktrees share."""
    return Path(os.path.normpath(own / (_read(own / "commondir") or ".")))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""
