"""What has been found out about the checks of a plan so far: files, parts of files, names that must stay free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from bridle.loop.protection.protected_parts import THERE, Part, Protected


@dataclass(frozen=True)
class RepositoryFiles:
    """The files of a repository, as they were."""

    names: Collection[str]
    """All that are in it or would be."""
    is_file: Callable[[str], bool]
    """Whether there is such a file, an ignored one included."""
    text: Callable[[str], str | None]
    """What is in it; None where it is not there or no text."""

    def is_folder(self, path: str) -> bool:
        """Whether files are in a folder of that name."""
        return path == "" or any(name.startswith(f"{path}/") for name in self.names)


@dataclass
class Findings:
    """Filled while commands are read."""

    files: dict[str, str] = field(default_factory=dict)
    """Whole files, each with the reason."""
    absent: dict[str, str] = field(default_factory=dict)
    """Files that must not appear, each with the reason."""
    conftest_folders: set[str] = field(default_factory=set)
    _names: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)

    def part(self, path: str, kind: str, names: Iterable[str] = (), *, state: str = THERE) -> None:
        """Take in a part of a file."""
        self._names.setdefault((path, kind, state), set()).update(names)

    def protected(self) -> Protected:
        """All of it; of a file that is protected as a whole, no part is listed."""
        parts = [
            Part(path, kind, tuple(sorted(names)), state)
            for (path, kind, state), names in sorted(self._names.items())
            if path not in self.files
        ]
        return Protected(
            dict(sorted(self.files.items())),
            tuple(parts),
            dict(sorted(self.absent.items())),
            tuple(sorted(self.conftest_folders)),
        )
