"""Symbolic links in a git folder. Git and Bridle would read and write through them, so those of an agent are removed.

Git itself makes none but HEAD, which leads to a branch. Users have some: of a folder of hooks, of shared objects.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bridle.ground.files import files_below
from bridle.ground.files.known_folders import KnownFolders

Links = Mapping[str, str]
"""By the name in a git folder: what a link leads to."""

# With core.preferSymlinkRefs.
_HEAD = re.compile(r"(?:worktrees/[^/]+/|modules/.+/)?HEAD")
# The folder of `exact_bytes`, and the links in it, which it compares before each use.
EXACT_FOLDER = "bridle-exact"
_EXACT = re.compile(
    rf"(?:worktrees/[^/]+/|modules/.+/)?{EXACT_FOLDER}/"
    r"(?:config|config\.worktree|objects|refs|reftable|info/exclude|info/sparse-checkout)"
)
_BRANCH = re.compile(r"refs/heads/(?!.*\.\.).+")
# Folders of objects.
_OBJECTS = re.compile(r"[0-9a-f]{2}|pack")

# By the git folder.
_known: dict[str, KnownFolders[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
# The links that `restore` has left, by the git folder.
_left: dict[Path, Links] = {}
# What `irregular_files` has found in git folders, within `one_look`.
_found: dict[str, list[str]] | None = None


@contextmanager
def one_look() -> Iterator[None]:
    """Look through each git folder once for all that asks for it here; no program is started and waited for within."""
    global _found  # one thread works with git folders
    _found = {}
    try:
        yield
    finally:
        _found = None


def read(place: Path) -> dict[str, str]:
    """Return the links in a git folder and all folders in it."""
    found: dict[str, str] = {}
    start = len(str(place)) + 1
    for path in irregular_files(str(place)):
        name = path[start:]
        with suppress(OSError):  # no link, or gone
            target = os.readlink(path)
            is_ours = _EXACT.fullmatch(name) or (_HEAD.fullmatch(name) and _BRANCH.fullmatch(target))
            if not is_ours:
                found[name] = target
    return found


def irregular_files(top: str, *, with_objects: bool = True) -> list[str]:
    """Return the paths of what is neither a file nor a folder in a git folder and all folders in it.

    Folders that have not changed since the last call are not listed again, see `known_folders`.
    """
    if _found is not None and with_objects:
        if top not in _found:
            _found[top] = _look_through(top, with_objects=True)
        return _found[top]
    return _look_through(top, with_objects=with_objects)


def _look_through(top: str, *, with_objects: bool) -> list[str]:
    known = _known.setdefault(top, KnownFolders(_read_folder))
    found: list[str] = []
    pending = [top]  # no recursion: an agent can nest folders as deep as it likes
    while pending:
        folder = pending.pop()
        try:
            irregular, folders = known.content(folder)
        except OSError:
            continue
        found += [f"{folder}/{name}" for name in irregular]
        pending += [f"{folder}/{name}" for name in folders if with_objects or not _OBJECTS.fullmatch(name)]
    if with_objects:
        known.end()
    return found


def real_place(place: Path, name: str) -> tuple[Path, str]:
    """Return the folder and the name in it by which a file is reached if the user has linked what is at the top.

    In the sandbox no agent can make a link there, and without it `restore` removes those of an agent.
    """
    first, slash, rest = name.partition("/")
    if not os.path.islink(f"{place}/{first}"):
        return place, name
    real = Path(os.path.realpath(place / first))
    return (real, rest) if slash else (real.parent, real.name)


def read_or_known(place: Path, *, is_known: bool) -> Links:
    """Return the links in a git folder. `is_known`: only Bridle has worked there since the last `restore`."""
    left = _left.get(place) if is_known else None
    return read(place) if left is None else left


def restore(place: Path, before: Links) -> list[str]:
    """Remove the links that were not there before; return their names. Links directly in the folder are made again."""
    now = read(place)
    added = sorted(name for name, target in now.items() if before.get(name) != target)
    for name in added:
        files_below.remove(place, name)
    lost = sorted(name for name in before if "/" not in name and now.get(name) != before[name])
    for name in lost:
        files_below.link(place, name, before[name])
    left = {name: target for name, target in now.items() if name not in added}
    _left[place] = left | {name: before[name] for name in lost}
    return sorted({*added, *lost})


def _read_folder(folder: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what is neither a file nor a folder, and of the folders."""
    others = [entry for entry in _entries(folder) if not entry.is_file(follow_symlinks=False)]
    folders = tuple(entry.name for entry in others if entry.is_dir(follow_symlinks=False))
    return tuple(entry.name for entry in others if not entry.is_dir(follow_symlinks=False)), folders


def _entries(folder: str) -> list[os.DirEntry[str]]:
    """Return what is in a folder. One that cannot be listed, but entered, is made readable: it may hide links."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) | stat.S_IRWXU)
        with os.scandir(folder) as entries:
            return list(entries)
