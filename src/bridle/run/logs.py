"""The log of one agent run: every byte of its output, written before it is decoded.

NAME.ndjson      standard output, verbatim
NAME.stderr      standard error, verbatim
NAME.times       one line for each read: the offset after it and the milliseconds since the start
NAME.meta.json   what was run and how it ended; see log_meta
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock, disk, ids
from bridle.run.log_meta import LOG_SUFFIX, META_SUFFIX, STDERR_SUFFIX, TIMES_SUFFIX, sidecar_path
from bridle.run.request import Request

STATE_FOLDER = Path(".ralph") / "state"
FOLDER = Path(".ralph") / "logs" / "claude"
# Runs of one task that start in the same millisecond get a number; more of them are a mistake.
_NAMES_TRIED = 1000


class RunLog:
    """The files of one run, open for writing."""

    def __init__(self, path: Path, fds: tuple[int, int, int]) -> None:
        self.path = path
        self.stderr_path = sidecar_path(path, STDERR_SUFFIX)
        self.meta_path = sidecar_path(path, META_SUFFIX)
        self._out, self._err, self._times = fds
        self._started = clock.monotonic()
        self._offset = 0
        self._is_open = True

    @classmethod
    def create(cls, request: Request, moment: datetime) -> RunLog:
        """Create the files under a new name."""
        folder = private_folder(request.workspace, FOLDER)
        name = f"{clock.stamp(moment)}-{request.mode}-{ids.safe_name(request.task)}"
        path, out = create_log(folder, name, LOG_SUFFIX)
        stderr, times = (disk.create_exclusive(sidecar_path(path, suffix)) for suffix in (STDERR_SUFFIX, TIMES_SUFFIX))
        return cls(path, (out, stderr, times))

    def write(self, chunk: bytes) -> None:
        """Append a chunk of standard output and its time. Called in the reading thread."""
        disk.write_all(self._out, chunk)
        self._offset += len(chunk)
        elapsed_ms = int((clock.monotonic() - self._started) * 1000)
        disk.write_all(self._times, b"%d %d\n" % (self._offset, elapsed_ms))

    def write_stderr(self, chunk: bytes) -> None:
        """Append a chunk of standard error. Called in the reading thread."""
        disk.write_all(self._err, chunk)

    def close(self) -> None:
        """Make the log durable and close its files; a second call does nothing."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            disk.sync(self._out)
        finally:
            for fd in (self._out, self._err, self._times):
                os.close(fd)


def create_log(folder: Path, name: str, suffix: str) -> tuple[Path, int]:
    """Create a log of that name, with a number where the name is taken; return its path and descriptor."""
    for number in range(1, _NAMES_TRIED):
        path = folder / f"{name if number == 1 else f'{name}-{number}'}{suffix}"
        try:
            return path, disk.create_exclusive(path)
        except DiskError as error:
            if not isinstance(error.__cause__, FileExistsError):
                raise
    raise DiskError(f"{folder} has {_NAMES_TRIED} logs called {name}", remedy="Remove old logs from that folder.")


def private_folder(workspace: Path, below: Path) -> Path:
    """Create a private folder in a workspace; refuse a symbolic link, which could lead out of it."""
    path = str(workspace)
    for part in below.parts:
        path = os.path.join(path, part)
        if os.path.islink(path):
            raise DiskError(f"{path} is a link; logs and state must stay in the workspace", remedy=f"Remove {path}.")
    return disk.make_private_folder(workspace / below)
