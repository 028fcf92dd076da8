"""Read git's own files without starting git: HEAD, refs, commits.

Starting git takes milliseconds, and a loop needs such facts dozens of times. Only the common cases are handled; any
other (another format, a packed object, a symbolic link) raises NeedsGit, and the caller runs git.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import common_folder, git_folder

# HEAD and a loose ref are one line each.
_LINE_LIMIT_BYTES = 64 * 1024
# Enough for packed-refs of the largest repositories.
_REFS_LIMIT_BYTES = 64 * 1024 * 1024
# A larger commit is left to git.
_OBJECT_LIMIT_BYTES = 1024 * 1024
# Kind, size, tree and parents are at the beginning, unless dozens of commits were merged.
_HEAD_BYTES = 4096

ID = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
# Refs that all worktrees share, without `..`.
_SHARED_REF = r"refs/(?:heads|bridle)/(?!.*(?:\.\.|//|/$))[A-Za-z0-9._/+-]+"
_COMMIT = rb"commit \d+\0tree (%b)\n((?:parent %b\n)*)author " % (ID.encode(), ID.encode())
_AUTHOR = rb"\nauthor ([^\n]+)\ncommitter [^\n]*\n(encoding )?"


class NeedsGit(Exception):
    """This case is not handled here; run git."""


def git_folders(top: Path) -> tuple[str, str]:
    """Return the git folder of the working copy with this top, and the one that all worktrees share."""
    own = git_folder(top)
    if own is None:
        raise NeedsGit
    shared = common_folder(own)
    if not os.path.isdir(f"{shared}/refs") or os.path.exists(f"{shared}/reftable"):
        raise NeedsGit
    return own, shared


def read_head(top: Path) -> str:
    """Return the ref of the branch that is checked out, or the id of a detached commit."""
    return _read_head(git_folders(top)[0])


def branch(top: Path) -> str | None:
    """Return the branch that is checked out; None for a detached HEAD."""
    target = read_head(top)
    return target.removeprefix("refs/heads/") if target.startswith("refs/") else None


def head(top: Path) -> str | None:
    """Return the commit that is checked out; None where the branch has none yet."""
    own, shared = git_folders(top)
    target = _read_head(own)
    return _ref(shared, target) if target.startswith("refs/") else target


def ref(top: Path, name: str) -> str | None:
    """Return the id that a branch, or a ref of Bridle's, points to; None where there is no such ref."""
    if not re.fullmatch(_SHARED_REF, name):
        raise NeedsGit
    return _ref(git_folders(top)[1], name)


def is_symbolic(top: Path, name: str) -> bool:
    """Return whether a branch, or a ref of Bridle's, names another ref."""
    if not re.fullmatch(_SHARED_REF, name):
        raise NeedsGit
    path = f"{git_folders(top)[1]}/{name}"
    if os.path.islink(path):  # as git wrote them long ago
        return True
    return os.path.isfile(path) and _read(path, _LINE_LIMIT_BYTES).startswith(b"ref:")


def _read_head(own: str) -> str:
    if os.path.islink(f"{own}/HEAD"):  # as git did long ago
        raise NeedsGit
    text = _line(f"{own}/HEAD")
    if text.startswith("ref: refs/heads/"):
        return text.removeprefix("ref: ")
    if not re.fullmatch(ID, text):
        raise NeedsGit
    return text


def _ref(shared: str, name: str) -> str | None:
    if not re.fullmatch(_SHARED_REF, name):
        raise NeedsGit
    path = f"{shared}/{name}"
    if os.path.isfile(path):
        text = _line(path)
        if not re.fullmatch(ID, text):
            raise NeedsGit
        return text
    return _packed(f"{shared}/packed-refs", name)


def has_loose_object(top: Path, name: str) -> bool:
    """Return whether an object is a file of its own, as new ones are until git collects garbage."""
    try:
        return os.path.exists(f"{git_folders(top)[1]}/objects/{name[:2]}/{name[2:]}")
    except NeedsGit:
        return False


def read_commit(top: Path, commit: str) -> tuple[str, tuple[str, ...]]:
    """Return the tree and the parents of a commit that is a loose object, as new ones are."""
    match = re.match(_COMMIT, _loose_commit(top, commit))
    if match is None:
        raise NeedsGit
    return match[1].decode("ascii"), tuple(match[2].decode("ascii").split()[1::2])


def author_of(top: Path, commit: str) -> str:
    """Return name, address and time of the author of a commit that is a loose object."""
    match = re.search(_AUTHOR, _loose_commit(top, commit))
    if match is None or match[2]:  # in another encoding
        raise NeedsGit
    try:
        return match[1].decode("utf-8")
    except ValueError as error:
        raise NeedsGit from error


def _loose_commit(top: Path, commit: str) -> bytes:
    """Return the beginning of a commit that is a loose object."""
    if not re.fullmatch(ID, commit):
        raise NeedsGit
    _, shared = git_folders(top)
    data = _read(f"{shared}/objects/{commit[:2]}/{commit[2:]}", _OBJECT_LIMIT_BYTES)
    try:
        return zlib.decompressobj().decompress(data, _HEAD_BYTES)
    except zlib.error as error:
        raise NeedsGit from error


def _packed(path: str, name: str) -> str | None:
    if not os.path.exists(path):
        return None
    data = _read(path, _REFS_LIMIT_BYTES)
    match = re.search(rb"^(" + ID.encode() + rb") " + re.escape(name.encode()) + rb"$", data, re.MULTILINE)
    return match[1].decode("ascii") if match is not None else None


def _line(path: str) -> str:
    try:
        text = _read(path, _LINE_LIMIT_BYTES).decode("utf-8", "surrogateescape").removesuffix("\n")
    except ValueError as error:
        raise NeedsGit from error
    if not text or "\n" in text:
        raise NeedsGit
    return text


def _read(path: str, limit_bytes: int) -> bytes:
    try:
        return disk.read_bounded(path, limit_bytes)
    except DiskError as error:
        raise NeedsGit from error
