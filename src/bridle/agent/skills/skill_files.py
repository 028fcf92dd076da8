"""Where skills and commands lie on disk: folders walked in order, links followed once, strange files left alone."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bridle.ground import disk

# A project with more documents than this is a folder that was linked by mistake.
DOCUMENT_LIMIT = 1000

# Nobody sorts commands into deeper folders; a loop of links ends here at the latest.
DEPTH_LIMIT = 8

# The fields stand at the top: this is all that is read before a skill is used.
HEAD_BYTES = 48 * 1024

# A skill that is sent to a model; more would fill its memory with one document.
TEXT_LIMIT_BYTES = 512 * 1024

SKILL_FILE = "SKILL.md"

_NAME = r"\w[\w.-]{0,99}"


class SkillFile(msgspec.Struct, frozen=True):
    """A document and the name that its place gives it."""

    name: str
    path: Path

    @property
    def is_folder(self) -> bool:
        """Whether it stands for its folder, whose other files belong to it."""
        return self.path.name == SKILL_FILE


def skills_in(folder: Path) -> list[SkillFile]:
    """The skills of a folder: each a folder of its own with a SKILL.md."""
    entries = _entries(folder)
    return [
        SkillFile(entry.name, folder / entry.name / SKILL_FILE)
        for entry in entries
        if re.fullmatch(_NAME, entry.name) and os.path.isfile(folder / entry.name / SKILL_FILE)
    ][:DOCUMENT_LIMIT]


def documents_in(folder: Path, suffixes: tuple[str, ...] = (".md",)) -> list[SkillFile]:
    """The documents below a folder, named by their path with colons; a SKILL.md is named by its folder."""
    found: list[SkillFile] = []
    for one in _walk(folder, (), suffixes, set()):
        found.append(one)
        if len(found) == DOCUMENT_LIMIT:
            break
    return found


def read_head(path: Path) -> str | None:
    """The beginning of a document; None for what cannot be read or is no regular file."""
    data = disk.read_part(path, HEAD_BYTES)
    return None if data is None else data.decode("utf-8", "replace")


def read_text(path: Path) -> str | None:
    """A whole document; None for what cannot be read, is no regular file or is too large."""
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
        about = os.stat(folder)
    except OSError:
        return
    if (about.st_dev, about.st_ino) in seen or len(names) > DEPTH_LIMIT:
        return
    seen.add((about.st_dev, about.st_ino))
    entries = _entries(folder)
    if names and any(entry.name == SKILL_FILE for entry in entries):
        yield SkillFile(":".join(names), folder / SKILL_FILE)
        return  # its other files are its own
    for entry in entries:
        stem, suffix = os.path.splitext(entry.name)
        if suffix in suffixes and re.fullmatch(_NAME, stem) and os.path.isfile(entry.path):
            yield SkillFile(":".join((*names, stem)), folder / entry.name)
        elif re.fullmatch(_NAME, entry.name) and os.path.isdir(entry.path):
            yield from _walk(folder / entry.name, (*names, entry.name), suffixes, seen)
