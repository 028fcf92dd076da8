"""The file whose exports a host applies to every later command. Hooks import this module."""

from __future__ import annotations

import os
import stat

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.light.shell_word import is_plain, shell_word

# A few lines of exports. Of a larger file only the end is read; a repeated line does no harm.
EXPORTS_LIMIT_BYTES = 1024 * 1024


def export_variable(path: str, name: str, value: str) -> None:
    """Export a variable to every later command, unless the last export of it is the same."""
    prefix = f"export {name}="
    _append_once(path, prefix + (f'"{value}"' if is_plain(value) else shell_word(value)), prefix)


def export_folder(path: str, folder: str) -> None:
    """Append a folder to the PATH of every later command, once.

    Claude Code appends the `bin` folder of a plugin itself, but not if its path contains a quote (2.1.197).
    """
    if os.pathsep not in folder:  # PATH cannot name such a folder
        line = f'export PATH="$PATH":{shell_word(folder)}'
        _append_once(path, line, line)


def _append_once(path: str, line: str, prefix: str) -> None:
    """Append a line unless the last line with its prefix is the same."""
    try:
        # O_NONBLOCK: opening a named pipe without a reader fails instead of waiting.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except (OSError, ValueError) as error:  # ValueError: an invalid path
        raise DiskError(f"could not open {path!a}: {error}") from error
    try:
        _append(fd, path, os.fsencode(line), os.fsencode(prefix))
    except OSError as error:
        raise DiskError(f"could not write {path!a}: {error}") from error
    finally:
        os.close(fd)


def _append(fd: int, path: str, line: bytes, prefix: bytes) -> None:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise DiskError(f"{path!a} is not a regular file")
    text = os.pread(fd, EXPORTS_LIMIT_BYTES, max(0, status.st_size - EXPORTS_LIMIT_BYTES))
    exports = [existing.strip() for existing in text.split(b"\n") if existing.startswith(prefix)]
    if exports and exports[-1] == line:  # the shell uses the last export, so earlier ones do not count
        return
    needs_newline = text and not text.endswith(b"\n")
    disk.write_all(fd, (b"\n" if needs_newline else b"") + line + b"\n")
