"""Lets the shell of a session find the plugin's program. On the path of a hook: nothing heavy is imported.

Claude Code puts the folder `bin` of a plugin on PATH by itself, but not where its name has a quote in it (2.1.197).
"""

from __future__ import annotations

import os

from bridle.errors import DiskError
from bridle.hosts.quoting import shell_word

# Some lines of exports; a larger file is not read through, and gets the line once more, which changes nothing.
EXPORTS_LIMIT_BYTES = 1024 * 1024


def export(folder: str, path: str) -> None:
    """Have the host put a folder at the end of the PATH of every later command; `path` is its file of exports."""
    if os.pathsep in folder:
        return  # PATH cannot name such a folder
    line = os.fsencode(f'export PATH="$PATH":{shell_word(folder)}\n')
    try:
        # O_NONBLOCK: a named pipe that nobody reads is refused instead of waited for.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        try:
            text = os.pread(fd, EXPORTS_LIMIT_BYTES, 0)
            if line not in text.splitlines(keepends=True):
                os.write(fd, (b"\n" if text and not text.endswith(b"\n") else b"") + line)
        finally:
            os.close(fd)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise DiskError(f"{path!a} could not be written: {error}") from error
