"""Which repositories' hooks may run: those that the user trusted once, kept in the user's own folder."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock, disk
from bridle.ground.lock import FileLock

TRUST_FILE = "trust.json"
LOCK_FILE = "trust.lock"
# Writing the file takes milliseconds; whoever holds the lock longer is stuck.
LOCK_SECONDS = 10.0


def is_trusted(repository: Path, home: Path) -> bool:
    """Whether the user has said that this repository's hooks may run."""
    return _name(repository) in _read(home)


def trust(repository: Path, home: Path) -> None:
    """Let this repository's hooks run from now on."""
    disk.make_private_folder(home)
    with FileLock.hold(home / LOCK_FILE, holder="bridle doctor --trust", wait_seconds=LOCK_SECONDS):
        known = _read(home)
        if _name(repository) not in known:
            known[_name(repository)] = clock.iso(clock.now())
            disk.write_json_atomic(home / TRUST_FILE, {"repositories": known})


def _name(repository: Path) -> str:
    return str(repository.resolve())


def _read(home: Path) -> dict[str, object]:
    value = disk.read_json(home / TRUST_FILE)
    if value is None:
        return {}
    known = value.get("repositories") if isinstance(value, dict) else None
    if not isinstance(known, dict):
        raise DiskError(f"{home / TRUST_FILE} does not list repositories", remedy="Move it away and trust them again.")
    return known
