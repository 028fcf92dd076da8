"""CLAUDE.md and its kin: the instructions that people leave for the agent, in the order in which they are read.

Of the user, then of each folder from the root down to the working folder: `CLAUDE.md`, `.claude/CLAUDE.md`,
`.claude/rules/*.md`, `CLAUDE.local.md`. A file that another imports (`@path`) follows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.frontmatter import split_frontmatter

# The file that is read and four more behind it; whoever needs a longer chain has lost his way.
IMPORT_DEPTH = 5

# Instructions are a few pages. A file of this size is not meant for a model, and would crowd out the work.
FILE_LIMIT_BYTES = 1024 * 1024

# All of it together: more than this is a mistake (an import of a whole tree), and the window is for the work.
TOTAL_LIMIT_BYTES = 4 * 1024 * 1024

USER = "the user's own instructions, for every project"
PROJECT = "instructions of the project, kept in its repository"
LOCAL = "the user's own instructions for this project, not kept in its repository"

# Compiled when the first file is there to be read: most folders have none.
_FENCE = r"(?ms)^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"
_CODE = r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)"
_COMMENT = r"(?s)<!--.*?-->[ \t]*\n?"
_IMPORT = r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)"


class Instructions(msgspec.Struct, frozen=True):
    """One file of instructions."""

    path: Path
    kind: str
    text: str


class InstructionScope(msgspec.Struct, frozen=True):
    """Which instructions are wanted, and where they are looked for."""

    cwd: Path
    config_folder: Path
    home: Path
    sources: frozenset[str] = frozenset({"user", "project", "local"})
    repository: Path | None = None
    agents: bool = False
    """Whether `AGENTS.md` is read too, in the place of a `CLAUDE.md` that a folder does not have."""


def read_instructions(reach: InstructionScope) -> tuple[Instructions, ...]:
    """Read all that is there. A file that cannot be read is passed over: it is not the agent's work to mend it."""
    reading = _Reading(reach)
    if "user" in reach.sources:
        reading.add(reach.config_folder / "CLAUDE.md", USER)
        reading.add_all(_rules(reach.config_folder / "rules"), USER)
    for folder in reversed((reach.cwd, *reach.cwd.parents)):
        if "project" in reach.sources:
            if not reading.add(folder / "CLAUDE.md", PROJECT) and reach.agents:
                reading.add(folder / "AGENTS.md", PROJECT)
            if folder / ".claude" != reach.config_folder:
                reading.add(folder / ".claude" / "CLAUDE.md", PROJECT)
                reading.add_all(_rules(folder / ".claude" / "rules"), PROJECT)
        if "local" in reach.sources:
            reading.add(folder / "CLAUDE.local.md", LOCAL)
    return tuple(reading.found)


class _Reading:
    """What was found so far: each file once, however many others import it."""

    def __init__(self, reach: InstructionScope) -> None:
        self.found: list[Instructions] = []
        self._reach = reach
        self._seen: set[str] = set()
        self._left_bytes = TOTAL_LIMIT_BYTES

    def add(self, path: Path, kind: str) -> bool:
        """Read a file and what it imports; tell whether it is there."""
        return self._add(path, kind, depth=1)

    def add_all(self, paths: Iterable[Path], kind: str) -> None:
        """Read rules; those that are for some paths only are left to whoever works on these."""
        for path in paths:
            parts = split_frontmatter(_read(path) or "")
            if parts is None or not re.search(r"(?m)^paths\s*:", parts[0]):
                self.add(path, kind)

    def _add(self, path: Path, kind: str, *, depth: int) -> bool:
        # Most of the places that are looked at are empty: one cheap question to the system settles it.
        if not os.path.isfile(path):
            return False
        real = os.path.realpath(path)
        if real in self._seen:
            return True
        text = _read(path)
        if text is None or len(text) > self._left_bytes:
            return False
        self._seen.add(real)
        self._left_bytes -= len(text)
        plain = _without_comments(text)
        parts = split_frontmatter(plain)
        shown = (plain if parts is None else parts[1]).strip()
        if shown:
            self.found.append(Instructions(path, kind, shown))
        if depth < IMPORT_DEPTH:
            for name in imports(text):
                target = self._target(name, path.parent)
                if kind == USER or self._is_inside(target):
                    self._add(target, kind, depth=depth + 1)
        return True

    def _target(self, name: str, folder: Path) -> Path:
        path = self._reach.home / name[2:] if name.startswith("~/") else folder / name
        return Path(os.path.normpath(path))

    def _is_inside(self, path: Path) -> bool:
        """Whether a file, links resolved, is in the working folder or its repository: nobody is there to be asked."""
        real = Path(os.path.realpath(path))
        return any(
            real.is_relative_to(os.path.realpath(folder))
            for folder in (self._reach.cwd, self._reach.repository)
            if folder is not None
        )


def imports(text: str) -> Iterator[str]:
    """The paths that a text imports; what stands in code or in a comment does not count."""
    prose = re.sub(_CODE, " ", re.sub(_FENCE, "\n", re.sub(_COMMENT, "", text)))
    for found in re.finditer(_IMPORT, prose):
        name = found[1].replace("\\ ", " ").partition("#")[0].rstrip(".,;:!?)")
        if name.startswith(("./", "../", "~/", "/")) or re.match(r"[A-Za-z0-9._-]", name):
            yield name


def _without_comments(text: str) -> str:
    """The text without remarks that are not meant for the model; what looks like one inside code stays."""
    kept: list[str] = []
    at = 0
    for code in re.finditer(_FENCE, text):
        kept += [re.sub(_COMMENT, "", text[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*kept, re.sub(_COMMENT, "", text[at:])])


def _rules(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*.md") if path.is_file())


def _read(path: Path) -> str | None:
    try:
        data = disk.read_bounded(path, FILE_LIMIT_BYTES)
    except DiskError:
        return None
    if b"\0" in data:  # a picture, an archive: not text
        return None
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
