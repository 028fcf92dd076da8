"""A file that a user asks for, written in pieces: it is there whole or not at all, and private."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bridle.errors import UsageError
from bridle.ground import disk


def check_output(path: Path, *, overwrite: bool) -> None:
    """Raise a UsageError where a file cannot be written there, before any work is done for it."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder", remedy="Name a file in it.")
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    if not path.parent.is_dir():
        raise UsageError(f"the folder {path.parent} does not exist", remedy="Create it, or name another file.")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"the folder {path.parent} is not writable", remedy="Name a file in another folder.")


def write_output(path: Path, pieces: Iterable[bytes], *, overwrite: bool, mode: int = 0o600) -> int:
    """Write pieces to a new file, which appears when it is complete; return its size.

    Without `overwrite` a file that has appeared since is left alone. What the pieces raise leaves nothing behind.
    """
    temporary = disk.temporary_name(path.parent)
    descriptor = disk.create_exclusive(temporary, mode=mode)
    size = 0
    try:
        try:
            for piece in pieces:
                disk.write_all(descriptor, piece)
                size += len(piece)
            disk.sync(descriptor)
        finally:
            os.close(descriptor)
        _publish(temporary, path, overwrite=overwrite)
    finally:
        temporary.unlink(missing_ok=True)
    disk.sync_folder(path.parent)
    return size


def _publish(temporary: Path, path: Path, *, overwrite: bool) -> None:
    if overwrite:
        disk.move(temporary, path)
        return
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise _exists(path) from None
        disk.move(temporary, path)


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} exists", remedy="Pass --force to replace it, or name another file.")
