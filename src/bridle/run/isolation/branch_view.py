"""The branch that a sandboxed program may move: that of its working copy, among the branches of runs or of a worktree.

Git replaces a ref by a lock file and a rename, so the folder of the branch must be writable. It is a private copy: only
the own branch is copied back, and only if it holds the id of a commit, or was deleted. A branch that names another one
(a symbolic ref) would let the next commit of Bridle move that one.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.run.isolation import replaced_files
from bridle.run.isolation.real_paths import real
from bridle.run.isolation.replaced_files import Identity

# The branches of runs.
OUR_BRANCHES = "refs/heads/bridle"
_HEADS = "refs/heads/"
# HEAD and a ref are one line.
_LINE_LIMIT_BYTES = 4096
_ID = rb"(?:[0-9a-f]{40}|[0-9a-f]{64})\n?"


class BranchView(Struct, frozen=True):
    """A folder of branches, and its private copy."""

    folder: Path
    private: Path
    """The folder that is shown at its place."""
    own: str | None
    """The file of the branch that may move; None without a file in this folder."""
    original: Identity | None
    copy: Identity | None


def make_branch_view(git: Path, own: Path, private: Path) -> BranchView | None:
    """Copy the folder of the own branch; in a main working copy, that of the branches of runs.

    `git` is the folder that all worktrees share, `own` that of the working copy.
    """
    branch = branch_of(own)
    folder = git / OUR_BRANCHES
    if branch is not None and (own != git or branch.startswith(f"{OUR_BRANCHES}/")):
        folder = (git / branch).parent
        if not _is_inside(git, folder):
            return None
        folder.mkdir(parents=True, exist_ok=True)  # the branch may be packed
    elif own != git or not folder.is_dir() or not _is_inside(git, folder):
        return None
    else:
        branch = None
    name = Path(branch).name if branch is not None else None
    original = replaced_files.identify(folder / name) if name is not None else None
    replaced_files.copy(folder, private)
    return BranchView(
        folder, private, name, original, replaced_files.identify(private / name) if name is not None else None
    )


def copy_branch_back(view: BranchView) -> None:
    """Replace the own branch, if the program has moved it, and no other program has."""
    if view.own is None:
        return
    source, target = view.private / view.own, view.folder / view.own
    if replaced_files.identify(source) == view.copy or (os.path.lexists(source) and not _is_id(source)):
        return
    with replaced_files.lock(target) as lock:
        if lock is not None and replaced_files.identify(target) == view.original:
            replaced_files.replace(source, target, lock)


def branch_of(own: Path) -> str | None:
    """Return the ref of the branch that a working copy with this git folder is on."""
    try:
        head = disk.read_bounded(own / "HEAD", _LINE_LIMIT_BYTES).decode("utf-8", "surrogateescape").strip()
    except DiskError:
        return None
    ref = head.removeprefix("ref: ")
    is_branch = ref != head and ref.startswith(_HEADS) and not {"", ".", ".."} & set(ref.split("/"))
    return ref if is_branch else None


def _is_inside(git: Path, folder: Path) -> bool:
    """Return whether no link leads out: a program of an earlier sandbox could write HEAD, and links."""
    return real(folder) == os.path.join(real(git), folder.relative_to(git))


def _is_id(path: Path) -> bool:
    try:
        return re.fullmatch(_ID, disk.read_bounded(path, _LINE_LIMIT_BYTES)) is not None
    except DiskError:
        return False
