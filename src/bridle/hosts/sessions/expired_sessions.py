"""Files of sessions that ended long ago. Each session of a host leaves one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from bridle.errors import SessionFileUnusable
from bridle.ground import ids
from bridle.hosts.sessions import binding_record, session_file

_SUFFIX = ".md"


def find(folders: Iterable[Path], *, before: float) -> list[Path]:
    """Return the session files last changed before a time, except those that block for a run."""
    return [path for folder in folders for path in _files(folder) if _is_expired(path, before) and _is_unbound(path)]


def remove(paths: Iterable[Path], *, before: float) -> int:
    """Delete those of the files that are still expired; return how many."""
    return sum(session_file.delete(path) for path in paths if _is_expired(path, before))


def remove_records(environ: Mapping[str, str]) -> None:
    """Delete the records of sessions whose file does not exist any more."""
    for name in filter(ids.is_id, _names(session_file.records_folder(environ))):
        record = binding_record.read(name, environ)
        if record is not None and not os.path.lexists(record.path):
            binding_record.remove(name, environ)


def _files(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in _names(folder) if name.endswith(_SUFFIX))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:  # missing, or not readable
        return []


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
