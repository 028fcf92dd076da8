"""Sessions that nobody has heard of for long: their files are found, and go. Each session of a host leaves one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from bridle.errors import SessionFileUnusable
from bridle.hosts.sessions import session_file

_ENDING = ".md"


def find(folders: Iterable[Path], *, before: float) -> list[Path]:
    """The files in these state folders that were last changed before a moment, but for those that hold a run."""
    return [path for folder in folders for path in _files(folder) if _is_old(path, before) and _is_spare(path)]


def remove(paths: Iterable[Path], *, before: float) -> int:
    """Remove those of the files that are still old; how many are gone."""
    return sum(session_file.delete(path) for path in paths if _is_old(path, before))


def _files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:  # no such folder, or none of ours
        return
    yield from (folder / name for name in names if name.endswith(_ENDING))


def _is_old(path: Path, before: float) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime < before


def _is_spare(path: Path) -> bool:
    """Whether it is the file of a session that no stop would hold; what is anything else is not ours to remove."""
    try:
        found = session_file.read(path)
    except SessionFileUnusable:
        return False
    return found is not None and not found.faults and not (found.session.active and found.session.run_id)
