"""Files below a folder, reached without following a link on the way: a program may have put links there.

Each folder is opened from the one above it, so a link that is put there at the same time is not followed either.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bridle.ground import disk

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@contextmanager
def parent(top: Path, name: str, *, makes: bool = False) -> Iterator[tuple[int, str]]:
    """Open the folder of a file below `top`; yield its descriptor and the last part of the name.

    Raise OSError where a folder on the way is missing or a link. `makes`: make it, and remove what is at its place.
    """
    parts = name.split("/")
    fd = _open_parent(top, parts, name, makes=makes)
    try:
        yield fd, parts[-1]
    finally:
        os.close(fd)


def _open_parent(top: Path, parts: list[str], name: str, *, makes: bool) -> int:
    """Return a descriptor of the folder of a file, which the caller closes."""
    if "" in parts or "." in parts or ".." in parts or "\0" in name:
        raise OSError(errno.EINVAL, "not the name of a file below a folder", name)
    fd = os.open(top, _FOLDER)
    try:
        for folder in parts[:-1]:
            if makes and not _is_folder(fd, folder):
                with suppress(FileNotFoundError):
                    os.unlink(folder, dir_fd=fd)
                os.mkdir(folder, dir_fd=fd)
            inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = inner
    except BaseException:
        os.close(fd)
        raise
    return fd


def read(top: Path, name: str, limit_bytes: int) -> bytes | None:
    """Return the content of a regular file; None for anything else, and for a larger one."""
    if is_missing(top, name):
        return None
    try:
        folder = _open_parent(top, name.split("/"), name, makes=False)
        try:
            return read_in(folder, name.rpartition("/")[2], limit_bytes)
        finally:
            os.close(folder)
    except OSError:
        return None


def read_in(folder: int, name: str, limit_bytes: int) -> bytes | None:
    """Return the content of a regular file in the folder of a descriptor; None for anything else and a larger one.

    Raise OSError where it cannot be opened.
    """
    fd = os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW, dir_fd=folder)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        data = file.read(limit_bytes + 1)
    return data if len(data) <= limit_bytes else None


def is_missing(top: Path, name: str) -> bool:
    """Return whether there is nothing at a place, also not behind a link: most files of git are optional.

    This takes one call, and to open each folder on the way takes several.
    """
    try:
        os.lstat(f"{top}/{name}")
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False  # where it is opened, it is judged
    return False


def replace(top: Path, name: str, data: bytes, *, mode: int = 0o644) -> None:
    """Replace a file durably, or what is at its place; missing folders are made."""
    with parent(top, name, makes=True) as (folder, last):
        temporary = disk.temporary_name(Path()).name
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode, dir_fd=folder)
        try:
            with open(fd, "wb") as file:
                os.fchmod(fd, mode)  # the umask must not restrict the mode
                file.write(data)
                file.flush()
                os.fsync(fd)
            if _is_folder(folder, last):
                _remove_folder(last, folder)
            os.replace(temporary, last, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def link(top: Path, name: str, target: str) -> None:
    """Replace what is at a place by a link; missing folders are made."""
    remove(top, name)
    with parent(top, name, makes=True) as (folder, last):
        os.symlink(target, last, dir_fd=folder)


def remove(top: Path, name: str) -> None:
    """Remove a file, a link or a folder with all that is in it; do nothing where it, or a folder above, is missing."""
    with suppress(FileNotFoundError, NotADirectoryError), parent(top, name) as (folder, last):
        if _is_folder(folder, last):
            _remove_folder(last, folder)
        else:
            os.unlink(last, dir_fd=folder)


def walk(top: Path, name: str, *, skips: str = "") -> Iterator[str]:
    """Yield the names of all files and links below a folder that is below `top`; none if it is reached by a link.

    Folders of the name `skips` are left out.
    """
    if is_missing(top, name):
        return
    try:
        with parent(top, f"{name}/_") as (folder, _):
            for root, folders, files, _fd in os.fwalk(".", dir_fd=folder):
                folders[:] = [inner for inner in folders if inner != skips]
                inside = "" if root == "." else f"{root.removeprefix('./')}/"
                yield from (f"{name}/{inside}{file}" for file in files)
    except OSError:
        return


def listed(top: Path, name: str) -> list[str]:
    """Return the names in a folder below `top`; none if it is missing, or reached by a link."""
    if is_missing(top, name):
        return []
    try:
        with parent(top, f"{name}/_") as (folder, _):
            return sorted(os.listdir(folder))
    except OSError:
        return []


def _is_folder(folder: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _remove_folder(name: str, above: int) -> None:
    """Remove a folder, with all that is in it, in the folder of a descriptor."""
    import shutil  # late: `bridle status` removes nothing

    shutil.rmtree(name, dir_fd=above)
