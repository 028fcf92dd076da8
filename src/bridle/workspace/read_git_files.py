"""What git's own files say, read without starting git: what is checked out, where refs point, what a commit is of.
And the two things that a snapshot adds to them: a commit, and a ref of ours.

Starting git takes milliseconds, and a loop asks such things dozens of times. Only the plain cases are dealt with here;
whatever else there is (another format, a packed object, a link in the way) raises Unclear, and git itself is asked.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import common_folder, git_folder

# Which git folder a working copy has, and what is checked out, is one line each.
_LINE_LIMIT_BYTES = 64 * 1024
# Refs of the largest repositories that people work in.
_REFS_LIMIT_BYTES = 64 * 1024 * 1024
# A commit that somebody wrote a book into is left to git.
_OBJECT_LIMIT_BYTES = 1024 * 1024
# The kind, the size, the tree and the parents stand within the first of it, unless dozens were merged.
_HEAD_BYTES = 4096

_ID = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_WHOLE_ID = re.compile(_ID)
# Those that all worktrees share, without a part that leads elsewhere.
_SHARED_REF = re.compile(r"refs/(?:heads|bridle)/(?!.*(?:\.\.|//|/$))[A-Za-z0-9._/+-]+")
_OUR_REF = re.compile(r"refs/bridle/(?:[A-Za-z0-9_-][A-Za-z0-9._+-]*/)*[A-Za-z0-9_-][A-Za-z0-9_+-]*")
_COMMIT = re.compile(rb"commit \d+\0tree (%b)\n((?:parent %b\n)*)author " % (_ID.encode(), _ID.encode()))


class Unclear(Exception):
    """Only git itself can tell."""


def git_folders(top: Path) -> tuple[str, str]:
    """The git folder of a working copy, whose top folder this is, and the one that all its worktrees share.

    As plain text: this is asked dozens of times in an iteration, and a Path takes longer to make than a file to find.
    """
    own = git_folder(top)
    if own is None:
        raise Unclear
    shared = common_folder(own)
    if not os.path.isdir(f"{shared}/refs") or os.path.exists(f"{shared}/reftable"):
        raise Unclear
    return own, shared


def checked_out(top: Path) -> str:
    """The ref of the branch that is checked out, or the id of the commit that is by itself."""
    return _checked_out(git_folders(top)[0])


def head(top: Path) -> str | None:
    """The commit that is checked out; None where the branch has none yet."""
    own, shared = git_folders(top)
    found = _checked_out(own)
    return _ref(shared, found) if found.startswith("refs/") else found


def ref(top: Path, name: str) -> str | None:
    """The id that a branch, or a ref of ours, points to; None where there is no such ref."""
    if not _SHARED_REF.fullmatch(name):
        raise Unclear
    return _ref(git_folders(top)[1], name)


def _checked_out(own: str) -> str:
    if os.path.islink(f"{own}/HEAD"):  # an old way to name a branch
        raise Unclear
    text = _line(f"{own}/HEAD")
    if text.startswith("ref: refs/heads/"):
        return text.removeprefix("ref: ")
    if not _WHOLE_ID.fullmatch(text):
        raise Unclear
    return text


def _ref(shared: str, name: str) -> str | None:
    if not _SHARED_REF.fullmatch(name):
        raise Unclear
    path = f"{shared}/{name}"
    if os.path.isfile(path):
        text = _line(path)
        if not _WHOLE_ID.fullmatch(text):
            raise Unclear
        return text
    return _packed(f"{shared}/packed-refs", name)


def commit_of(top: Path, commit: str) -> tuple[str, tuple[str, ...]]:
    """The tree and the parents of a commit that has a file of its own, as new ones have."""
    if not _WHOLE_ID.fullmatch(commit):
        raise Unclear
    _, shared = git_folders(top)
    data = _read(f"{shared}/objects/{commit[:2]}/{commit[2:]}", _OBJECT_LIMIT_BYTES)
    try:
        found = _COMMIT.match(zlib.decompressobj().decompress(data, _HEAD_BYTES))
    except zlib.error as error:
        raise Unclear from error
    if found is None:
        raise Unclear
    return found[1].decode("ascii"), tuple(found[2].decode("ascii").split()[1::2])


def write_commit(top: Path, tree: str, parents: Sequence[str], who: str, seconds: int, text: str) -> str:
    """Add a commit, in the form in which git adds one; gives its id. It is on no branch."""
    if not all(_WHOLE_ID.fullmatch(one) for one in (tree, *parents)):
        raise Unclear
    _, shared = git_folders(top)
    stamp = f"{who} {seconds} +0000"
    lines = [f"tree {tree}", *(f"parent {one}" for one in parents), f"author {stamp}", f"committer {stamp}", "", text]
    body = "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"
    data = b"commit %d\0%b" % (len(body), body)
    digest = hashlib.sha1 if len(tree) == 40 else hashlib.sha256  # the repository's own kind of id
    name = digest(data, usedforsecurity=False).hexdigest()
    folder = Path(shared) / "objects" / name[:2]
    try:
        folder.mkdir(exist_ok=True)
        if not (folder / name[2:]).exists():
            disk.replace_cache(folder / name[2:], zlib.compress(data, 1), mode=0o444)
    except (OSError, DiskError) as error:
        raise Unclear from error
    return name


def lock_of(top: Path, name: str) -> Path:
    """The file that exists while somebody changes a ref of ours."""
    if not _OUR_REF.fullmatch(name):
        raise Unclear
    _, shared = git_folders(top)
    return Path(shared) / f"{name}.lock"


def write_ref(top: Path, name: str, commit: str) -> None:
    """Have a ref of ours point to a commit; durable when it returns. Git's own lock keeps others away."""
    lock = lock_of(top, name)
    path = lock.with_suffix("")
    if path.is_dir() or not _WHOLE_ID.fullmatch(commit):
        raise Unclear
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise Unclear from error
    try:
        try:
            disk.write_all(fd, f"{commit}\n".encode("ascii"))
            disk.sync(fd)
        finally:
            os.close(fd)
        disk.move(lock, path)
    except DiskError as error:
        lock.unlink(missing_ok=True)
        raise Unclear from error


def _packed(path: str, name: str) -> str | None:
    if not os.path.exists(path):
        return None
    data = _read(path, _REFS_LIMIT_BYTES)
    found = re.search(rb"^(" + _ID.encode() + rb") " + re.escape(name.encode()) + rb"$", data, re.MULTILINE)
    return found[1].decode("ascii") if found is not None else None


def _line(path: str) -> str:
    """The one line of a file."""
    try:
        text = _read(path, _LINE_LIMIT_BYTES).decode("utf-8", "surrogateescape").removesuffix("\n")
    except ValueError as error:
        raise Unclear from error
    if not text or "\n" in text:
        raise Unclear
    return text


def _read(path: str, limit_bytes: int) -> bytes:
    try:
        return disk.read_bounded(path, limit_bytes)
    except DiskError as error:
        raise Unclear from error
