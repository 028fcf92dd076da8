"""The refs of a repository, but Bridle's own, read without starting git; and files that git takes for one of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.files import files_below
from bridle.workspace.git_folder import git_links

_REFS = "refs"
# Only Bridle writes these; in the sandbox they are read-only.
_OURS = "refs/bridle/"
_PACKED = "packed-refs"
# A ref is one line.
_LINE_LIMIT_BYTES = 64 * 1024
_PACKED_LIMIT_BYTES = 64 * 1024 * 1024
_VALUE = re.compile(rb"(?:[0-9a-f]{40}(?:[0-9a-f]{24})?|ref: refs/\S+)\s*")
# Git searches a name in these, in this order, after its own folder and `refs`.
_SEARCHED = ("refs/tags/", "refs/heads/", "refs/remotes/")
# Files of git's own, as ORIG_HEAD.
_OF_GIT = re.compile(r"[A-Z_]+")


def read(place: Path) -> dict[str, str]:
    """Return every ref but Bridle's own; a loose one overrides a packed one."""
    return dict([*_packed(place), *_loose(place)])


def short_names(refs: Iterable[str]) -> dict[str, int]:
    """Return the names by which users name branches and tags, each with the place where git finds it first."""
    found: dict[str, int] = {}
    for name in refs:
        for number, folder in enumerate(_SEARCHED):
            if name.startswith(folder):
                short = name.removeprefix(folder)
                found[short] = min(number, found.get(short, number))
    return found


def hides_another(name: str, known: Mapping[str, int]) -> bool:
    """Return whether git finds a new ref under the name of one of the known ones, instead of that one."""
    return any(known.get(short, -1) > number for short, number in short_names([name]).items())


def find_shadows(place: Path, folders: Iterable[str], refs: Iterable[str]) -> frozenset[str]:
    """Return files in git folders that git takes for a ref, before a branch or tag of the same name."""
    names = [name for name in short_names(refs) if not _OF_GIT.fullmatch(name)]
    found = []
    for folder in folders:
        entries = set(files_below.listed(place, folder)) if folder else set(os.listdir(place))
        start = f"{folder}/" if folder else ""
        listed = (f"{start}{name}" for name in names if name.partition("/")[0] in entries)
        found += [path for path in listed if _value(place, path) is not None]
    return frozenset(found)


def _packed(place: Path) -> Iterator[tuple[str, str]]:
    try:
        packed = disk.read_bounded(place / _PACKED, _PACKED_LIMIT_BYTES).decode("utf-8", "surrogateescape")
    except DiskError:
        return
    for line in packed.splitlines():
        value, _, name = line.partition(" ")
        if _is_watched(name) and _VALUE.fullmatch(value.encode("utf-8", "surrogateescape")):
            yield name, value


def _loose(place: Path) -> Iterator[tuple[str, str]]:
    for entry in files_below.listed(*git_links.real_place(place, _REFS)):
        if not _is_watched(f"{_REFS}/{entry}/"):
            continue
        for name in [f"{_REFS}/{entry}", *_files_in(place, f"{_REFS}/{entry}")]:
            value = None if name.endswith(".lock") else _value(place, name)
            if value is not None:
                yield name, value


def _value(place: Path, name: str) -> str | None:
    """Return what a ref holds; None for what git ignores, and which may be another file."""
    data = files_below.read(*git_links.real_place(place, name), _LINE_LIMIT_BYTES)
    return data.decode("utf-8", "surrogateescape").strip() if data is not None and _VALUE.fullmatch(data) else None


def _files_in(place: Path, name: str) -> Iterator[str]:
    top, inside = git_links.real_place(place, name)
    return (name + file.removeprefix(inside) for file in files_below.walk(top, inside))


def _is_watched(name: str) -> bool:
    return name.startswith(f"{_REFS}/") and not name.startswith(_OURS)
