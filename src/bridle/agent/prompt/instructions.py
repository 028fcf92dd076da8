"""Reads the instructions for the agent: CLAUDE.md and related files, in order.

The user's, then those of each directory from the root down to the working directory: `CLAUDE.md`, `.claude/CLAUDE.md`,
`.claude/rules/*.md`, `CLAUDE.local.md`. An imported file (`@path`) follows the file that imports it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bridle.agent.prompt.rule_globs import matches, rule_paths
from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.git_folder import folders_up_to_top, leads_out

# A file and four levels of imports, as in Claude Code.
IMPORT_DEPTH = 5

# Instructions are a few pages; a larger file is not meant for a model.
FILE_LIMIT_BYTES = 1024 * 1024

# The limit of all files together; more is a mistake, such as an import of a whole tree.
TOTAL_LIMIT_BYTES = 4 * 1024 * 1024

USER = "the user's own instructions, for every project"
PROJECT = "instructions of the project, kept in its repository"
LOCAL = "the user's own instructions for this project, not kept in its repository"

# Compiled with the first file: most directories have none.
_FENCE = r"(?ms)^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)"
_CODE = r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)"
_COMMENT = r"(?s)<!--.*?-->[ \t]*\n?"
_IMPORT = r"(?:^|(?<=\s))@((?:\\ |[^\s\\])+)"


class Instructions(msgspec.Struct, frozen=True):
    """An instruction file."""

    path: Path
    kind: str
    text: str


class InstructionScope(msgspec.Struct, frozen=True):
    """Which instructions to read, and where."""

    cwd: Path
    config_folder: Path
    home: Path
    sources: frozenset[str] = frozenset({"user", "project", "local"})
    repository: Path | None = None
    agents: bool = False
    """Whether `AGENTS.md` is read in directories without `CLAUDE.md`."""
    is_hidden: Callable[[str], bool] = lambda _path: False
    """Whether a rule denies reading a file; then it is neither imported nor read through a link."""


def read_instructions(scope: InstructionScope) -> tuple[Instructions, ...]:
    """Return all instructions; files that cannot be read are skipped."""
    reader = InstructionReader(scope)
    reader.add_opening()
    return tuple(reader.files)


def links_out(cwd: Path) -> list[str]:
    """Return a line for each instruction file that is not read because it is a link out of the repository."""
    found = []
    for folder in folders_up_to_top(cwd):
        names = (folder / "CLAUDE.md", folder / ".claude" / "CLAUDE.md", folder / "CLAUDE.local.md")
        found += [path for path in (*names, *_rules(folder / ".claude" / "rules")) if path.is_file()]
    return [
        f"Ignoring {path}: it is a link that leads out of the repository." for path in found if leads_out(path, cwd)
    ]


class InstructionReader:
    """Collects files, each of them once."""

    def __init__(self, scope: InstructionScope) -> None:
        self.files: list[Instructions] = []
        self._scope = scope
        self._seen: set[str] = set()
        self._left_bytes = TOTAL_LIMIT_BYTES

    def add(self, path: Path, kind: str) -> bool:
        """Read a file and its imports; return whether it exists."""
        return self._add(path, kind, depth=1)

    def add_opening(self) -> None:
        """Read the instructions that every session begins with."""
        scope = self._scope
        if "user" in scope.sources:
            self.add(scope.config_folder / "CLAUDE.md", USER)
            self.add_rules(scope.config_folder / "rules", USER)
        for folder in reversed((scope.cwd, *scope.cwd.parents)):
            self.add_folder(folder)
            if "local" in scope.sources:
                self.add(folder / "CLAUDE.local.md", LOCAL)

    def add_folder(self, folder: Path) -> None:
        """Read the project's instructions in one directory."""
        if "project" not in self._scope.sources:
            return
        if not self.add(folder / "CLAUDE.md", PROJECT) and self._scope.agents:
            self.add(folder / "AGENTS.md", PROJECT)
        if folder / ".claude" != self._scope.config_folder:
            self.add(folder / ".claude" / "CLAUDE.md", PROJECT)
            self.add_rules(folder / ".claude" / "rules", PROJECT)

    def add_rules(self, folder: Path, kind: str, *, about: str | None = None) -> None:
        """Read the rules for every file, or with `about` those that are limited to paths which fit this one."""
        for path in _rules(folder):
            parts = _split_frontmatter(_read(path) or "")
            patterns = None if parts is None else rule_paths(parts[0])
            fits = about is not None and any(matches(about, pattern) for pattern in patterns or ())
            if fits if patterns is not None else about is None:
                self.add(path, kind)

    def _add(self, path: Path, kind: str, *, depth: int) -> bool:
        # Most of these files do not exist: check that first, because it is cheap.
        if not os.path.isfile(path) or (kind != USER and leads_out(path, self._scope.cwd)):
            return False
        real = os.path.realpath(path)
        if real in self._seen:
            return True
        is_own_file = depth == 1 and real == os.path.join(os.path.realpath(path.parent), path.name)
        if not is_own_file and self._scope.is_hidden(real):
            return False
        text = _read(path)
        if text is None or len(text) > self._left_bytes:
            return False
        self._seen.add(real)
        self._left_bytes -= len(text)
        plain = _without_comments(text)
        parts = _split_frontmatter(plain)
        shown = (plain if parts is None else parts[1]).strip()
        if shown:
            self.files.append(Instructions(path, kind, shown))
        if depth < IMPORT_DEPTH:
            for name in imports(text):
                target = self._target(name, path.parent)
                if kind == USER or self._is_inside(target):
                    self._add(target, kind, depth=depth + 1)
        return True

    def _target(self, name: str, folder: Path) -> Path:
        path = self._scope.home / name[2:] if name.startswith("~/") else folder / name
        return Path(os.path.normpath(path))

    def _is_inside(self, path: Path) -> bool:
        """Return whether a file is in the working directory or repository, with links resolved."""
        real = Path(os.path.realpath(path))
        return any(
            real.is_relative_to(os.path.realpath(folder))
            for folder in (self._scope.cwd, self._scope.repository)
            if folder is not None
        )


def imports(text: str) -> Iterator[str]:
    """Yield the paths that a text imports outside code and comments."""
    prose = re.sub(_CODE, " ", re.sub(_FENCE, "\n", re.sub(_COMMENT, "", text)))
    for match in re.finditer(_IMPORT, prose):
        name = match[1].replace("\\ ", " ").partition("#")[0].rstrip(".,;:!?)")
        if name.startswith(("./", "../", "~/", "/")) or re.match(r"[A-Za-z0-9._-]", name):
            yield name


def _split_frontmatter(text: str) -> tuple[str, str] | None:
    from bridle.ground.frontmatter import split_frontmatter  # late: most folders have no instructions

    return split_frontmatter(text)


def _without_comments(text: str) -> str:
    """Remove HTML comments outside code."""
    parts: list[str] = []
    end = 0
    for code in re.finditer(_FENCE, text):
        parts += [re.sub(_COMMENT, "", text[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, re.sub(_COMMENT, "", text[end:])])


def _rules(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.rglob("*.md") if path.is_file())


def _read(path: Path) -> str | None:
    try:
        data = disk.read_bounded(path, FILE_LIMIT_BYTES)
    except DiskError:
        return None
    if b"\0" in data:  # not text
        return None
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
