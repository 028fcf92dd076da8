"""Files of git with what it knows of objects: commit-graph and multi-pack-index. Git believes them without the objects.

A forged one shows another tree for a commit. Git makes them again, so those that a program has written are removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from bridle.ground.files import files_below
from bridle.ground.git_folder import submodule_folders

State = tuple[int, int, int, int]
Caches = Mapping[str, State]
"""By the name in a git folder: inode, size and times, of which no program can set the last."""

_MULTI_PACK_INDEX = "multi-pack-index"


def read(place: Path) -> dict[str, State]:
    """Return the caches in a git folder and those of its submodules."""
    folders = ["", *(f"{path.relative_to(place).as_posix()}/" for path in submodule_folders(place))]
    return {name: state for folder in folders for name in _names(place, folder) if (state := _state(place, name))}


def remove_changed(place: Path, before: Caches) -> list[str]:
    """Remove the caches that were not there before, or have changed; return their names."""
    names = [name for name, state in read(place).items() if before.get(name) != state]
    for name in names:
        files_below.remove(place, name)
    return names


def _names(place: Path, folder: str) -> Iterator[str]:
    objects = f"{folder}objects"
    yield f"{objects}/info/commit-graph"
    yield from files_below.walk(place, f"{objects}/info/commit-graphs")
    names = files_below.listed(place, f"{objects}/pack")
    yield from (f"{objects}/pack/{name}" for name in names if name.startswith(_MULTI_PACK_INDEX))


def _state(place: Path, name: str) -> State | None:
    if files_below.is_missing(place, name):
        return None
    try:
        with files_below.parent(place, name) as (folder, last):
            state = os.stat(last, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns
