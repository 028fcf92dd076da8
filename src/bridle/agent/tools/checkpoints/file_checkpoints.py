"""File checkpoints: at each prompt, the content of every file that the tools have changed so far.

Names and records are those of Claude Code, so that either program can rewind a session of the other: a backup is
`<hash of the path>@v<version>` in the folder of the session, and the transcript has a line for each checkpoint.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from bridle.agent.tools.files.excerpt import NotRegularFile, open_regular
from bridle.ground import clock, disk

_NAME_CHARACTERS = 16  # of the hash, as Claude Code names backups


class Backup(msgspec.Struct, frozen=True, rename="camel"):
    """One version of a file."""

    backup_file_name: str | None
    """None if the file did not exist."""
    version: int
    backup_time: str


class Checkpoint(msgspec.Struct, rename="camel"):
    """The tracked files at one prompt."""

    message_id: str
    tracked_file_backups: dict[str, Backup]
    """By path: relative to the project if it is below it."""
    timestamp: str


class FileState(msgspec.Struct, frozen=True):
    """The content and the mode of a file."""

    data: bytes
    mode: int


class Unsafe(Exception):
    """The path is a link, a device or a directory: its file is neither saved nor restored."""


class FileCheckpoints:
    """The checkpoints of one session. `before_change` is called from worker threads, the rest from the event loop."""

    def __init__(
        self, folder: Path, project: Path, record: Callable[[Checkpoint], None], known: list[Checkpoint]
    ) -> None:
        """Save backups in `folder`; `known` are the checkpoints of a resumed session.

        `record` writes a checkpoint to the transcript, also when a file is added to it.
        """
        self._folder, self._project, self._record = Path(os.path.realpath(folder)), project, record
        self._lock = threading.Lock()
        self._checkpoints = known
        self._first: dict[str, Backup] = {}
        self._last: dict[str, Backup] = {}
        for checkpoint in known:
            for name, backup in checkpoint.tracked_file_backups.items():
                self._note(name, backup)

    def begin(self, message_id: str) -> None:
        """Make the checkpoint of a prompt."""
        with self._lock:
            backups = {name: self._current(name, last) for name, last in self._last.items()}
            checkpoint = Checkpoint(message_id, backups, clock.iso(clock.now()))
            self._checkpoints.append(checkpoint)
            self._last.update(backups)
            self._record(checkpoint)

    def before_change(self, path: Path) -> None:
        """Save a file that is about to be changed for the first time; raise OSError if that fails."""
        name = self._name(path)
        with self._lock:
            if not self._checkpoints or name in self._last:
                return
            backup = self._save(name, read_state(path), 1)
            self._note(name, backup)
            checkpoint = self._checkpoints[-1]
            checkpoint.tracked_file_backups[name] = backup
            self._record(checkpoint)

    def files_at(self, message_id: str) -> dict[Path, FileState | None] | None:
        """Return every tracked file as it was at a prompt, None for one that was missing; None without a checkpoint.

        A file that was not tracked at that prompt was as it was before its first change.
        """
        with self._lock:
            found = [checkpoint for checkpoint in self._checkpoints if checkpoint.message_id == message_id]
            if not found:
                return None
            backups = self._first | found[-1].tracked_file_backups
            return {self._path(name): self._content(backup) for name, backup in backups.items()}

    def _current(self, name: str, last: Backup) -> Backup:
        """Return the backup of a file as it is now; the last one if nothing has changed since."""
        try:
            state = read_state(self._path(name))
        except (OSError, Unsafe):
            return last
        return last if state == self._content(last) else self._save(name, state, last.version + 1)

    def _save(self, name: str, state: FileState | None, version: int) -> Backup:
        if state is None:
            return Backup(None, version, clock.iso(clock.now()))
        digest = hashlib.sha256(str(self._path(name)).encode("utf-8", "surrogateescape")).hexdigest()
        file = f"{digest[:_NAME_CHARACTERS]}@v{version}"
        self._folder.mkdir(parents=True, exist_ok=True)
        disk.write_atomic(self._folder / file, state.data)
        os.chmod(self._folder / file, state.mode)  # the mode of the file is that of its backup
        return Backup(file, version, clock.iso(clock.now()))

    def _content(self, backup: Backup) -> FileState | None:
        return None if backup.backup_file_name is None else read_state(self._folder / backup.backup_file_name)

    def _note(self, name: str, backup: Backup) -> None:
        self._first.setdefault(name, backup)
        self._last[name] = backup

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._project)) if path.is_relative_to(self._project) else str(path)

    def _path(self, name: str) -> Path:
        return self._project / name


def read_state(path: Path) -> FileState | None:
    """Return a file; None if it is missing. Raises Unsafe if it is not a regular file by a path without links."""
    try:
        if stat.S_ISLNK(os.lstat(path).st_mode):
            raise Unsafe
        with open_regular(path) as file:
            return FileState(file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (NotRegularFile, IsADirectoryError):
        raise Unsafe from None
