"""Finds the files of skills and commands: sorted, symbolic links followed once, other files ignored."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from bridle.ground import disk

# More documents mean that a directory was linked by mistake.
DOCUMENT_LIMIT = 1000

# Deeper directories are not used; also ends loops of links.
DEPTH_LIMIT = 8

# Enough for the frontmatter, which is all that is read before a skill is used.
HEAD_BYTES = 48 * 1024

# A larger skill would fill the context window.
TEXT_LIMIT_BYTES = 512 * 1024

SKILL_FILE = "SKILL.md"

_NAME = r"\w[\w.-]{0,99}"

Source = Literal["user", "project", "plugin"]
Kind = Literal["skill", "command", "skillset"]


class SkillFile(msgspec.Struct, frozen=True):
    """A document and its name, from its path."""

    name: str
    path: Path

    @property
    def is_folder(self) -> bool:
        """Whether it is a SKILL.md, to which the other files of its directory belong."""
        return self.path.name == SKILL_FILE


class Skill(msgspec.Struct, frozen=True):
    """A skill, command or skillset."""

    name: str
    kind: Kind
    source: Source
    path: Path
    folder: Path | None
    """The directory of its other files; None for a single document."""
    description: str
    is_described: bool
    """Whether it has a description; otherwise its first line is used."""
    title: str | None = None
    """A second name, from its `name` field."""
    argument_hint: str = ""
    argument_names: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()
    model: str | None = None
    for_model: bool = True
    for_user: bool = True
    members: tuple[str, ...] = ()
    """The skills of a skillset whose texts are part of its own."""
    on_demand: tuple[tuple[str, str], ...] = ()
    """Further skills of a skillset, each with the description of its use: named in its text, not part of it."""
    plugin: Path | None = None
    fault: str | None = None
    """Why a skillset cannot be used: it is not JSON or YAML."""


def as_name(title: str) -> str:
    """Return a title in the form of a name, as Claude Code changes it."""
    return re.sub(r"[^\w.-]", "-", title)


def skills_in(folder: Path) -> list[SkillFile]:
    """Return the skills of a folder: its subfolders with a SKILL.md."""
    entries = _entries(folder)
    return [
        SkillFile(entry.name, folder / entry.name / SKILL_FILE)
        for entry in entries
        if re.fullmatch(_NAME, entry.name) and os.path.isfile(folder / entry.name / SKILL_FILE)
    ][:DOCUMENT_LIMIT]


def skills_at(path: Path) -> list[SkillFile]:
    """Return the skills of a folder, or the one that the folder itself is."""
    if os.path.isfile(path / SKILL_FILE) and re.fullmatch(_NAME, path.name):
        return [SkillFile(path.name, path / SKILL_FILE)]
    return skills_in(path)


def documents_at(path: Path) -> list[SkillFile]:
    """Return the documents below a folder, or the one that the path names."""
    if os.path.isfile(path):
        return [SkillFile(path.stem, path)] if path.suffix == ".md" and re.fullmatch(_NAME, path.stem) else []
    return documents_in(path)


def documents_in(folder: Path, suffixes: tuple[str, ...] = (".md",)) -> list[SkillFile]:
    """Return the documents below a folder, named by their path with colons; a SKILL.md by its folder."""
    return list(islice(_walk(folder, (), suffixes, set()), DOCUMENT_LIMIT))


def read_head(path: Path) -> str | None:
    """Return the beginning of a document; None if it cannot be read or is not a regular file."""
    data = disk.read_part(path, HEAD_BYTES)
    return None if data is None else data.decode("utf-8", "replace")


def read_text(path: Path) -> str | None:
    """Return a whole document; None if it cannot be read, is not a regular file or is too large."""
    data = disk.read_part(path, TEXT_LIMIT_BYTES + 1)
    return None if data is None or len(data) > TEXT_LIMIT_BYTES else data.decode("utf-8", "replace")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []  # most projects have no such folder


def _walk(
    folder: Path, names: tuple[str, ...], suffixes: tuple[str, ...], seen: set[tuple[int, int]]
) -> Iterator[SkillFile]:
    try:
        state = os.stat(folder)
    except OSError:
        return
    if (state.st_dev, state.st_ino) in seen or len(names) > DEPTH_LIMIT:
        return
    seen.add((state.st_dev, state.st_ino))
    entries = _entries(folder)
    if names and any(entry.name == SKILL_FILE for entry in entries):
        yield SkillFile(":".join(names), folder / SKILL_FILE)
        return  # the other files belong to the skill
    for entry in entries:
        stem, suffix = os.path.splitext(entry.name)
        if suffix in suffixes and re.fullmatch(_NAME, stem) and os.path.isfile(entry.path):
            yield SkillFile(":".join((*names, stem)), folder / entry.name)
        elif re.fullmatch(_NAME, entry.name) and os.path.isdir(entry.path):
            yield from _walk(folder / entry.name, (*names, entry.name), suffixes, seen)
