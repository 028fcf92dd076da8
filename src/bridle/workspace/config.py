"""What git is told by its configuration files; git is asked again only when one of them has changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace import read_git_files

# Configurations are written by hand. A longer one is none that we keep in memory.
_LIMIT_BYTES = 1024 * 1024
ASK = ("config", "--list", "--show-origin", "-z")


class Config:
    """The settings of one working copy, as far as they are known."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._files: dict[Path, bytes | None] | None = None
        """Each file that they stand in, or might, and what was in it; None where that cannot be followed."""

    def known(self) -> Mapping[str, str] | None:
        """The settings, where nothing has changed since; else None, and git must be asked."""
        if self._files is None:
            return None
        try:
            is_same = all(_content(path) == before for path, before in self._files.items())
        except read_git_files.Unclear:
            return None
        return self._values if is_same else None

    def learn(self, printed: str, folder: Path, environment: Mapping[str, str]) -> Mapping[str, str]:
        """Take what git printed when it was asked with ASK; of several values of one name the last holds."""
        fields = printed.split("\0")
        origins, entries = fields[:-1:2], [entry.partition("\n") for entry in fields[1::2]]
        self._values = {name: value for name, _, value in entries}
        files = {folder / one.removeprefix("file:") for one in origins if one.startswith("file:")}
        # What another file brings in may depend on more than files, such as the branch that is checked out.
        is_followed = not any(name.startswith(("include.", "includeif.")) for name in self._values)
        try:
            files.update(_usual(folder, environment))
            self._files = {path: _content(path) for path in files} if is_followed else None
        except read_git_files.Unclear:
            self._files = None
        return self._values


def _usual(folder: Path, environment: Mapping[str, str]) -> Iterable[Path]:
    """Files that git looks for, whether they are there now or not."""
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


def _content(path: Path) -> bytes | None:
    """What is in a file; None where there is none. One that cannot be read is never what it was."""
    try:
        return disk.read_bounded(path, _LIMIT_BYTES)
    except DiskError as error:
        if isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            return None
        raise read_git_files.Unclear from error
