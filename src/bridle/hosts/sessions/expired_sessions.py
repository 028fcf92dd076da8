"""Files of sessions that ended long ago. Each session of a host leaves one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from bridle.errors import SessionFileUnusable
from bridle.hosts.sessions import session_file

_SUFFIX = ".md"


def find(folders: Iterable[Path], *, before: float) -> list[Path]:
    """Return the session files last changed before a time, except those that block for a run."""
    return [path for folder in folders for path in _files(folder) if _is_expired(path, before) and _is_unbound(path)]


def remove(paths: Iterable[Path], *, before: float) -> int:
    """Delete those of the files that are still expired; return how many."""
    return sum(session_file.delete(path) for path in paths if _is_expired(path, before))


def _files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
    except OSError:  # missing, or not readable
        return
    yield from (folder / name for name in names if name.endswith(_SUFFIX))


def _is_expired(path: Path, before: float) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime < before


def _is_unbound(path: Path) -> bool:
    """Return whether it is a valid session file whose stops are not blocked; other files are not ours."""
    try:
        file = session_file.read(path)
    except SessionFileUnusable:
        return False
    return file is not None and not file.faults and not (file.session.active and file.session.run_id)
