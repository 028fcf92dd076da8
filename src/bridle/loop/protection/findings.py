"""What defines the checks of a plan, collected while their commands are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from msgspec import Struct, field

from bridle.loop.protection.protected_parts import THERE, Part, Protected


class RepositoryFiles(Struct, frozen=True):
    """The files of a repository when the run began."""

    names: Collection[str]
    """All tracked and untracked files that are not ignored."""
    is_file: Callable[[str], bool]
    """Whether a file exists, ignored ones included."""
    text: Callable[[str], str | None]
    """A file's text; None if it is missing or not text."""

    def is_folder(self, path: str) -> bool:
        """Return whether a folder of that name has files."""
        return path == "" or any(name.startswith(f"{path}/") for name in self.names)


class Findings(Struct):
    """Files, parts of files and forbidden names that were found."""

    files: dict[str, str] = field(default_factory=dict)
    """Files that are protected as a whole, each with the reason."""
    absent: dict[str, str] = field(default_factory=dict)
    """Files that must not be added, each with the reason; the last part of a path may be a pattern."""
    reviewed: dict[str, str] = field(default_factory=dict)
    """Files that are reported if they are added, each with the reason; as in `absent`."""
    definitions: dict[str, str] = field(default_factory=dict)
    """Names of files that are reported if they are changed, each with the program that reads it."""
    conftest_folders: set[str] = field(default_factory=set)
    python_folders: set[str] = field(default_factory=set)
    programs: set[str] = field(default_factory=set)
    program_folders: set[str] = field(default_factory=set)
    """Folders in which commands run."""
    made: set[str] = field(default_factory=set)
    """Files that recipes of make make."""
    _names: dict[tuple[str, str, str], set[str]] = field(default_factory=dict)

    def part(self, path: str, kind: str, names: Iterable[str] = (), *, state: str = THERE) -> None:
        """Add a part of a file."""
        self._names.setdefault((path, kind, state), set()).update(names)

    def protected(self) -> Protected:
        """Return all findings, without parts of files that are protected as a whole."""
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
            dict(sorted(self.reviewed.items())),
            tuple(sorted(self.python_folders)),
            programs=tuple(sorted(self.programs)),
            program_folders=tuple(sorted(self.program_folders)),
            made=tuple(sorted(self.made)),
            definitions=dict(sorted(self.definitions.items())),
        )
