"""Files that a sandboxed program may replace: copied for it, and copied back as git replaces them."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

# A million files have an index of 100 MB.
_LIMIT_BYTES = 512 * 1024 * 1024
# A rebase of a thousand commits has fewer.
_FILES_LIMIT = 10_000
# Git's own folders have no folders in them; those of branches have few.
_DEPTH_LIMIT = 8
# Another git has the lock of an index for some milliseconds.
_LOCK_TRIES = 20
_LOCK_PAUSE_SECONDS = 0.05

Identity = tuple[int, int, int]


@contextlib.contextmanager
def lock(target: Path) -> Iterator[Path | None]:
    """Take the lock by which git replaces a file; yield None if another program keeps it."""
    path = target.with_name(f"{target.name}.lock")
    for _ in range(_LOCK_TRIES):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            break
        time.sleep(_LOCK_PAUSE_SECONDS)
    else:
        yield None
        return
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def replace(source: Path, target: Path, lock: Path) -> None:
    """Replace a file, or a folder, by a copy; a file is written into its lock, as git does."""
    if not os.path.lexists(source):
        _remove(target)
        return
    temporary = target.with_name(f"{target.name}.bridle-{os.getpid()}") if source.is_dir() else lock
    try:
        if copy(source, temporary):
            if temporary.is_dir() or target.is_dir():
                _remove(target)
            os.replace(temporary, target)
    finally:
        if os.path.lexists(temporary):
            _remove(temporary)


def copy(source: Path, target: Path, depth: int = 0) -> bool:
    """Copy a regular file, or a folder of them, with its times: git compares those of its index with the files'."""
    state = os.lstat(source)
    if stat.S_ISDIR(state.st_mode):
        if depth > _DEPTH_LIMIT:
            return False
        target.mkdir()
        for name in sorted(os.listdir(source))[:_FILES_LIMIT]:
            with contextlib.suppress(FileNotFoundError):  # another git has just removed it
                copy(source / name, target / name, depth + 1)
    elif stat.S_ISREG(state.st_mode) and state.st_size <= _LIMIT_BYTES:
        shutil.copyfile(source, target, follow_symlinks=False)
        target.chmod(stat.S_IMODE(state.st_mode))
        os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    else:
        return False  # a link, a pipe or a device: git writes none
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def identify(path: Path) -> Identity | None:
    """Return what distinguishes a file from another version of it; None if it is missing."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns
