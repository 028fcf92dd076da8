"""The record of the runs that this user has begun on this machine: a file in BRIDLE_HOME for each id.

It has a line for each run of that id, in whatever folder: the digest of what it was created with, and where that was.
A run in a cloned repository or an unpacked archive has none. Hooks import this: nothing heavy in here.
"""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.light.quick_sha256 import sha256
from bridle.ground.lock import FileLock

FOLDER = "runs"
# What a run is created with, and what never changes.
FILES = ("run.json", "inputs.json")
# A plan with its settings is in there.
_LIMIT_BYTES = 64 * 1024 * 1024
# The newest runs of an id that are recorded: a program may use one id again and again. A path has at most 4 KiB.
_SAME_ID = 500
_RECORD_LIMIT_BYTES = 4 * 1024 * 1024
_LOCK_FILE = ".lock"  # no id begins with a dot
# Writing a record takes milliseconds; a process that holds the lock longer is stuck.
_LOCK_SECONDS = 10.0
# Looked at to find runs below a folder, newest first.
_RECORDS_SEARCHED = 1000


def record(run: Path, home: Path, *, folder: Path | None = None) -> None:
    """Record that the user has begun a run; `folder` is where its files are now, if elsewhere."""
    place = os.fsencode(os.path.realpath(run))
    line = _digest(folder or run).encode() + (b"" if b"\n" in place else b" " + place)
    try:
        records = disk.make_private_folder(home / FOLDER)
        with FileLock.hold(records / _LOCK_FILE, holder="the record of a run", wait_seconds=_LOCK_SECONDS):
            lines = [*_lines(records / run.name), line][-_SAME_ID:]
            disk.write_atomic(records / run.name, b"\n".join(lines))
    except DiskError as error:
        raise DiskError(
            f"the run cannot be recorded as yours: {error.message}",
            remedy="Set BRIDLE_HOME to a folder that you can write to.",
            payload=error.payload,
        ) from error


def is_recorded(run: Path, home: Path) -> bool:
    """Return whether the user has begun this run here, and its plan and settings are those that it began with."""
    try:
        known = {line.partition(b" ")[0] for line in _lines(home / FOLDER / run.name)}
        return bool(known) and _digest(run).encode() in known
    except DiskError:
        return False


def begun_below(folder: Path, home: Path) -> list[Path]:
    """Return the runs that the user has begun in a folder or below it and that are still there, newest first."""
    above = os.fsencode(os.path.realpath(folder)).rstrip(b"/") + b"/"
    found: list[Path] = []
    for record in _newest_records(home / FOLDER):
        try:
            places = [line.partition(b" ")[2] for line in reversed(_lines(record))]
        except DiskError:
            continue
        here = dict.fromkeys(os.fsdecode(place) for place in places if place.startswith(above))
        found += [Path(place) for place in here if os.path.isfile(f"{place}/{FILES[0]}")]
    return found


def _newest_records(records: Path) -> list[Path]:
    try:
        with os.scandir(records) as entries:
            known = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if not entry.name.startswith(".")]
    except OSError:
        return []
    return [Path(path) for _, path in sorted(known, reverse=True)[:_RECORDS_SEARCHED]]


def _lines(record: Path) -> list[bytes]:
    text = disk.read_if_exists(record, _RECORD_LIMIT_BYTES) or b""
    return [line for line in text.split(b"\n") if line]


def _digest(run: Path) -> str:
    total = sha256()
    for name in FILES:
        content = disk.read_bounded(run / name, _LIMIT_BYTES) if os.path.lexists(run / name) else b""
        total.update(b"%d\0" % len(content) + content)
    return f"sha256:{total.hexdigest()}"
