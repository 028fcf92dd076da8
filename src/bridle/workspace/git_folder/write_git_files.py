"""Write commits, other objects and refs of Bridle's own without starting git; any unusual case raises NeedsGit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace.git_folder.read_git_files import ID, NeedsGit, git_folders
from bridle.workspace.git_folder.write_loose_object import write_loose_object

_OUR_REF = r"refs/bridle/(?:[A-Za-z0-9_-][A-Za-z0-9._+-]*/)*[A-Za-z0-9_-][A-Za-z0-9_+-]*"


def write_commit(top: Path, tree: str, parents: Sequence[str], author: str, committer: str, text: str) -> str:
    """Write a commit object that is on no branch; return its id. Author and committer: name, address and time."""
    if not all(re.fullmatch(ID, name) for name in (tree, *parents)):
        raise NeedsGit
    lines = [
        f"tree {tree}",
        *(f"parent {parent}" for parent in parents),
        f"author {author}",
        f"committer {committer}",
        "",
        text,
    ]
    content = "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"
    return write_object(top, b"commit", content, id_length=len(tree))


def write_object(top: Path, kind: bytes, content: bytes, *, id_length: int) -> str:
    """Write a loose object; return its id, which has the length of the other ids of the repository."""
    import hashlib  # late: it loads OpenSSL

    data = b"%b %d\0%b" % (kind, len(content), content)
    digest = hashlib.sha1 if id_length == 40 else hashlib.sha256
    name = digest(data, usedforsecurity=False).hexdigest()
    try:
        write_loose_object(f"{git_folders(top)[1]}/objects", name, data)
    except (OSError, DiskError) as error:
        raise NeedsGit from error
    return name


def ref_lock_path(top: Path, name: str) -> Path:
    """Return the lock file that exists while a ref of Bridle's is changed."""
    return Path(f"{_ref_path(top, name)}.lock")


def write_ref(top: Path, name: str, commit: str) -> None:
    """Point a ref of Bridle's to a commit, durably and under git's lock file."""
    path = _ref_path(top, name)
    if path.is_dir() or not re.fullmatch(ID, commit):
        raise NeedsGit
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NeedsGit from error
    with replace_under_lock(path) as fd:
        write_line(fd, commit)


@contextmanager
def replace_under_lock(path: Path) -> Iterator[int]:
    """Hold git's lock of a file; yield the lock's descriptor, whose content replaces the file if the block succeeds.

    An error removes the lock. An error of the disk, or a lock of another git, raises NeedsGit.
    """
    lock = Path(f"{path}.lock")
    try:
        fd = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise NeedsGit from error  # git reports the lock
    try:
        try:
            yield fd
        finally:
            os.close(fd)
        disk.move(lock, path)
    except BaseException as error:
        with suppress(OSError):
            lock.unlink()
        if isinstance(error, (DiskError, OSError)):
            raise NeedsGit from error
        raise


def write_line(fd: int, commit: str) -> None:
    """Write the only line of a ref, durably."""
    disk.write_all(fd, f"{commit}\n".encode("ascii"))
    disk.sync(fd)


def _ref_path(top: Path, name: str) -> Path:
    if not re.fullmatch(_OUR_REF, name):
        raise NeedsGit
    return Path(f"{git_folders(top)[1]}/{name}")
