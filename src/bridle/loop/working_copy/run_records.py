"""Records that a driver writes before agents, and reads after them: files in the folder of the run.

A program without a sandbox can change these files. So a driver believes only what it wrote itself, or read before its
first agent; a file that was changed is restored and reported. The next driver compares the files with the digests in
the journal: a result has those of the records that were written since the one before. A record that the journal has
may be written again without a result that follows, as in a driver that is killed or has nothing to do. So the journal
has its new digest before the file.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from bridle.errors import DiskError, JournalBroken
from bridle.ground import disk

CHANGED = "it is a record of Bridle, and was changed; Bridle has used what it had recorded"
_LIMIT_BYTES = 256 * 1024 * 1024


class _Record(Struct, frozen=True):
    data: bytes | None
    """None: there was no file."""
    worker: int | None = None
    digest: str | None = None
    time: float | None = None


class RunRecords:
    """The records of one driver."""

    def __init__(self) -> None:
        self._known: dict[Path, _Record] = {}
        self._in_journal: dict[Path, frozenset[str]] = {}
        """The digests of records and of copies of files that results have, or have been given, and later ones."""
        self._announce: Callable[[Path, str], None] | None = None
        self._new: dict[Path, tuple[str, int | None]] = {}
        """The digests that no result has yet, and the worker whose next result has them."""

    def expect(
        self, digests: Mapping[Path, Collection[str]], announce: Callable[[Path, str], None] | None = None
    ) -> None:
        """Set the digests that the journal has; `announce` adds one to it."""
        self._in_journal |= {path: frozenset(found) for path, found in digests.items()}
        self._announce = announce

    def write(self, path: Path, data: bytes, worker: int | None) -> None:
        """Write a record of a worker, or of the run itself."""
        disk.make_private_folder(path.parent)
        known, digest = self._in_journal.get(path), sha256(data).hexdigest()
        if self._announce is not None and known is not None and digest not in known:
            self._announce(path, digest)
            self._in_journal[path] = known | {digest}
        disk.write_atomic(path, data)
        self._keep(path, data, worker)

    def write_json(self, path: Path, value: object, worker: int | None) -> None:
        # Names that are not UTF-8 survive as escapes.
        self.write(path, json.dumps(value, indent=2).encode("ascii") + b"\n", worker)

    def read(self, path: Path, worker: int | None) -> bytes | None:
        """Return a record; None if it is missing. Raises JournalBroken if it is not as the journal says."""
        known = self._known.get(path)
        if known is not None:
            return known.data
        data, expected = disk.read_if_exists(path, _LIMIT_BYTES), self._in_journal.get(path)
        if expected is not None and (data is None or sha256(data).hexdigest() not in expected):
            raise JournalBroken(
                f"{path} was changed or removed after the run had recorded it",
                remedy="Start a new run, which takes the current files as its baseline.",
            )
        self._keep(path, data, worker)
        return data

    def read_json(self, path: Path, worker: int | None) -> object | None:
        data = self.read(path, worker)
        try:
            return None if data is None else json.loads(data)
        except (ValueError, RecursionError) as error:
            raise JournalBroken(f"cannot read {path}: {error}", remedy="Start a new run.") from error

    def note(self, path: Path, digest: str, worker: int | None) -> None:
        """Have the digest of a file in the worker's next result, unless the journal has it."""
        if self._in_journal.get(path) != frozenset([digest]):
            self._new[path] = digest, worker

    def take_new(self, worker: int | None) -> dict[Path, str]:
        """Return the digests for a result of this worker."""
        taken = {path: digest for path, (digest, owner) in self._new.items() if owner == worker}
        self._new = {path: noted for path, noted in self._new.items() if path not in taken}
        self._in_journal |= {path: frozenset([digest]) for path, digest in taken.items()}
        return taken

    def digest_of(self, path: Path) -> str | None:
        """Return the digest of a record as this driver knows it."""
        known = self._known.get(path)
        return None if known is None else known.digest

    def time_of(self, path: Path) -> float | None:
        """Return when a record was written, as this driver knows it; None if it has not read it."""
        known = self._known.get(path)
        return None if known is None else known.time

    def restore_changed(self) -> list[Path]:
        """Restore the records that another program has changed or removed; return them."""
        changed = [path for path, known in self._known.items() if not _is_as(path, known)]
        for path in changed:
            known = self._known[path]
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            if known.data is None:
                path.unlink(missing_ok=True)
                continue
            disk.make_private_folder(path.parent)
            disk.write_atomic(path, known.data)
            if known.time is not None:
                os.utime(path, (known.time, known.time))
        return changed

    def keep_only(self, path: Path, worker: int | None) -> None:
        """Forget the worker's other records in the folder of this one: those of earlier iterations."""
        kept, folder = str(path), os.path.dirname(path)
        self._known = {
            other: known
            for other, known in self._known.items()
            if known.worker != worker or str(other) == kept or os.path.dirname(other) != folder
        }

    def _keep(self, path: Path, data: bytes | None, worker: int | None) -> None:
        if data is None:
            self._known[path] = _Record(None, worker)
            return
        digest = sha256(data).hexdigest()
        self._known[path] = _Record(data, worker, digest, path.lstat().st_mtime)
        self.note(path, digest, worker)


def _is_as(path: Path, known: _Record) -> bool:
    try:
        return not path.is_symlink() and disk.read_if_exists(path, _LIMIT_BYTES) == known.data
    except (DiskError, OSError):
        return False
