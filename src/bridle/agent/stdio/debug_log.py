"""The debug log, written only with `--debug` or `--debug-file` and readable by the user alone."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import UsageError
from bridle.ground import clock, disk


class DebugLog:
    """A log of lines with timestamps; without a path it discards them."""

    def __init__(self, path: Path | None) -> None:
        self._fd: int | None = None
        if path is None:
            return
        try:
            disk.make_private_folder(path.parent)
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"Error: cannot write the debug log {path}: {error.strerror}") from error

    def note(self, text: str) -> None:
        """Write a line; if the disk is full, logging stops."""
        if self._fd is None:
            return
        line = f"{clock.iso(clock.now())} {text}".replace("\n", "\\n")
        try:
            os.write(self._fd, line.encode("utf-8", "replace") + b"\n")
        except OSError:
            os.close(self._fd)
            self._fd = None


def log_path(
    debug: str | None, debug_file: str | None, *, cwd: Path, config_folder: Path, session_id: str
) -> Path | None:
    """Return the path of the log: `--debug-file`, or one per session with `--debug`, or None."""
    if debug_file is not None:
        return cwd / debug_file
    return None if debug is None else config_folder / "debug" / f"{session_id}.txt"
