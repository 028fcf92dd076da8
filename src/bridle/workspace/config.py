"""The git configuration, cached: git is run again only when one of its files has changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.files.known_folders import is_settled_at
from bridle.workspace.git_folder import read_git_files

# Configuration files are written by people. A longer one is not cached.
_LIMIT_BYTES = 1024 * 1024
LIST_CONFIG = ("config", "--list", "--show-origin", "-z")

_Stamp = tuple[int, int, int, int, int]


class Config:
    """The cached settings of one working copy."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self.entries: tuple[tuple[str, str], ...] = ()
        """All settings in order: a name may have several values."""
        self._files: dict[str, bytes | None] | None = None
        """Each file that may hold settings, with its content; None where they cannot be cached."""
        self._stamps: dict[str, _Stamp] = {}
        """Versions of these files that have that content: an iteration asks twenty times."""

    def cached(self) -> Mapping[str, str] | None:
        """Return the settings; None where a file has changed and git must be run."""
        if self._files is None:
            return None
        try:
            is_same = all(self._is_same(path, before) for path, before in self._files.items())
        except read_git_files.NeedsGit:
            return None
        return self._values if is_same else None

    def _is_same(self, path: str, before: bytes | None) -> bool:
        """Return whether a file has the same content; a version that is known to have it is not read again."""
        stamp = None if before is None else _stamp(path)
        if stamp is not None and stamp == self._stamps.get(path):
            return True
        is_same = _content(path) == before
        if is_same and stamp is not None and is_settled_at(stamp[-1]):
            self._stamps[path] = stamp
        return is_same

    def update(self, output: str, folder: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Parse the output of git for LIST_CONFIG; of several values of one name the last counts."""
        fields = output.split("\0")
        origins, entries = fields[:-1:2], [entry.partition("\n") for entry in fields[1::2]]
        self.entries = tuple((name, value) for name, _, value in entries)
        self._values, self._stamps = dict(self.entries), {}
        files = {folder / origin.removeprefix("file:") for origin in origins if origin.startswith("file:")}
        # An include may depend on more than files, such as the branch that is checked out.
        is_cacheable = not any(name.startswith(("include.", "includeif.")) for name in self._values)
        try:
            files.update(_default_files(folder, environment))
            self._files = {str(path): _content(str(path)) for path in files} if is_cacheable else None
        except read_git_files.NeedsGit:
            self._files = None
        return self._values


def _default_files(folder: Path, environment: Mapping[str, str]) -> Iterable[Path]:
    """Yield the files that git reads, whether they exist or not."""
    own, shared = read_git_files.git_folders(folder)
    yield from (Path(shared) / "config", Path(own) / "config.worktree")
    yield Path(environment.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig")
    home = environment.get("HOME")
    if named := environment.get("GIT_CONFIG_GLOBAL"):
        yield folder / named
    elif home:
        yield Path(home) / ".gitconfig"
    if other := environment.get("XDG_CONFIG_HOME") or (home and f"{home}/.config"):
        yield Path(other) / "git" / "config"


def _stamp(path: str) -> _Stamp | None:
    """Return what differs between two versions of a file; None where it is missing.

    The ctime is read before the content: a file that is written in between has another one at the next call.
    """
    try:
        facts = os.stat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _content(path: str) -> bytes | None:
    """Return the content of a file; None where it is missing. Raise NeedsGit where it cannot be read."""
    if not os.path.lexists(path):  # most of them are missing, and an error takes ten times as long
        return None
    try:
        return disk.read_bounded(path, _LIMIT_BYTES)
    except DiskError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return None
        raise read_git_files.NeedsGit from error
