"""The file whose lines a host adds to the environment of every later command. On the path of a hook."""

from __future__ import annotations

import os
import stat

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.hosts.hooks.shell_quote import is_plain, shell_word

# Some lines of exports; a larger file is not read through, and gets the line once more, which changes nothing.
EXPORTS_LIMIT_BYTES = 1024 * 1024


def export_variable(path: str, name: str, value: str) -> None:
    """Let every later command have a variable; a file that says so last stays as it is."""
    prefix = f"export {name}="
    _append_once(path, prefix + (f'"{value}"' if is_plain(value) else shell_word(value)), prefix)


def export_folder(path: str, folder: str) -> None:
    """Put a folder at the end of the PATH of every later command, once.

    Claude Code puts the folder `bin` of a plugin there by itself, but not where its name has a quote in it (2.1.197).
    """
    if os.pathsep not in folder:  # PATH cannot name such a folder
        line = f'export PATH="$PATH":{shell_word(folder)}'
        _append_once(path, line, line)


def _append_once(path: str, line: str, prefix: str) -> None:
    """Append a line, unless the last one with its prefix is the same."""
    try:
        # O_NONBLOCK: a named pipe that nobody reads is refused instead of waited for.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise DiskError(f"{path!a} could not be opened: {error}") from error
    try:
        _append(fd, path, os.fsencode(line), os.fsencode(prefix))
    except OSError as error:
        raise DiskError(f"{path!a} could not be written: {error}") from error
    finally:
        os.close(fd)


def _append(fd: int, path: str, line: bytes, prefix: bytes) -> None:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise DiskError(f"{path!a} is not a regular file")
    text = os.pread(fd, EXPORTS_LIMIT_BYTES, max(0, found.st_size - EXPORTS_LIMIT_BYTES))
    known = [one.strip() for one in text.split(b"\n") if one.startswith(prefix)]
    if known and known[-1] == line:  # an older session's line before it does not count: the last one wins
        return
    is_open = text and not text.endswith(b"\n")
    disk.write_all(fd, (b"\n" if is_open else b"") + line + b"\n")
