"""Resolve a path once, and open the result without following any link: what was checked is what is opened.

A resolved path has no links. If one of its folders, or the file itself, is a link by the time it is opened, it was
exchanged after the check, and opening it fails with ELOOP.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import Final

# The kernel's limit.
PATH_LIMIT_CHARACTERS: Final = 4096

# O_PATH needs no permission to list a folder; macOS does not have it.
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def resolve(path: str, folder: str, home: str) -> str | None:
    """Resolve a path with all its links; return None if it cannot be resolved.

    `..` after a link is the parent of the link's target, as in the kernel. A path that does not exist yet is resolved
    through the part that does.
    """
    if "\0" in path or len(path) > PATH_LIMIT_CHARACTERS:
        return None
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    try:
        resolved = os.path.realpath(os.path.join(folder, path))
    except (OSError, ValueError):
        return None
    # realpath leaves loops of links in its result.
    return None if any(os.path.islink(part) for part in _upwards(resolved)) else resolved


def is_loop(path: str, folder: str, home: str) -> bool:
    """Return whether a path cannot be resolved because its links lead to each other without an end."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    try:
        os.stat(os.path.join(folder, path))
    except (OSError, ValueError) as error:
        return isinstance(error, OSError) and error.errno == errno.ELOOP
    return False


def open_file(path: str, flags: int, mode: int = 0o666) -> int:
    """Open a resolved path, and never what a link in it leads to."""
    folder, name = os.path.split(path)
    if not name:
        return open_folder(path)
    parent = open_folder(folder)
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=parent)
    except OSError as error:
        raise _named(error, path) from error
    finally:
        os.close(parent)


def open_folder(path: str, *, create: bool = False) -> int:
    """Open a folder by its resolved path, component by component; `create` makes the missing ones."""
    fd = os.open("/", _FOLDER)
    opened = ""
    for name in path.split("/"):
        if not name:
            continue
        opened += f"/{name}"
        try:
            inner = _step(fd, name, create=create)
        except OSError as error:
            raise _named(error, opened) from error
        finally:
            os.close(fd)
        fd = inner
    return fd


def folder_of_descriptor(fd: int, path: str) -> str:
    """Return the path under which a child process enters an open folder, whatever its name leads to by then."""
    through = f"/proc/self/fd/{fd}"
    return through if os.path.isdir(through) else path  # macOS has no such path


def _step(parent: int, name: str, *, create: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        if not create:
            raise
        with contextlib.suppress(FileExistsError):  # created concurrently
            os.mkdir(name, dir_fd=parent)
        return os.open(name, _FOLDER, dir_fd=parent)
    except NotADirectoryError:
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def _named(error: OSError, path: str) -> OSError:
    """Return the error with the whole path instead of one component."""
    return OSError(error.errno, error.strerror, path)


def _upwards(path: str) -> Iterator[str]:
    """Yield a path and every folder above it."""
    while path not in ("/", ""):
        yield path
        path = os.path.dirname(path)
