"""The repositories whose hooks may run, by the user's decision; kept in Bridle's home folder."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock, disk
from bridle.ground.lock import FileLock

TRUST_FILE = "trust.json"
LOCK_FILE = "trust.lock"
# Writing the file takes milliseconds; a process that holds the lock longer is stuck.
LOCK_SECONDS = 10.0


def is_trusted(repository: Path, home: Path) -> bool:
    """Return whether the user has trusted this repository."""
    return _name(repository) in _read(home)


def trust(repository: Path, home: Path) -> None:
    disk.make_private_folder(home)
    with FileLock.hold(home / LOCK_FILE, holder="bridle doctor --trust", wait_seconds=LOCK_SECONDS):
        trusted = _read(home)
        if _name(repository) not in trusted:
            trusted[_name(repository)] = clock.iso(clock.now())
            disk.write_json_atomic(home / TRUST_FILE, {"repositories": trusted})


def _name(repository: Path) -> str:
    return str(repository.resolve())


def _read(home: Path) -> dict[str, object]:
    value = disk.read_json(home / TRUST_FILE)
    if value is None:
        return {}
    trusted = value.get("repositories") if isinstance(value, dict) else None
    if not isinstance(trusted, dict):
        raise DiskError(
            f"{home / TRUST_FILE} must have an object 'repositories'",
            remedy="Move it away and trust the repositories again: bridle doctor --trust",
        )
    return trusted
