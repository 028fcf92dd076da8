"""The debug log: what only somebody who looks for a fault should know. Written when it was asked for, and private."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import UsageError
from bridle.ground import clock, disk


class DebugLog:
    """Lines with their time; without a file they go nowhere."""

    def __init__(self, path: Path | None) -> None:
        self._fd: int | None = None
        if path is None:
            return
        try:
            disk.make_private_folder(path.parent)
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise UsageError(f"Error: the debug log {path} cannot be written: {error.strerror}") from error

    def note(self, text: str) -> None:
        """Write a line; a disk that is full costs the line and nothing else."""
        if self._fd is None:
            return
        line = f"{clock.iso(clock.now())} {text}".replace("\n", "\\n")
        try:
            os.write(self._fd, line.encode("utf-8", "replace") + b"\n")
        except OSError:
            os.close(self._fd)
            self._fd = None


def place(debug: str | None, debug_file: str | None, *, cwd: Path, config_folder: Path, session_id: str) -> Path | None:
    """Where the log goes: the file that was named, or one for each session; None where nobody asked for it."""
    if debug_file is not None:
        return cwd / debug_file
    return None if debug is None else config_folder / "debug" / f"{session_id}.txt"
