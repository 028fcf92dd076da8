"""The receipt as a run's process knows it, kept in Bridle's home folder: `bridle status` need not replay the journal.

It is derived data. It counts only for the journal that it was computed from, down to the last entry, and for the
version of Bridle that computed it. Whatever proves something (audit, verify, signed receipts) replays the journal.
The home folder is out of reach of an agent in a sandbox; the run's own folder may not be.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bridle import __version__
from bridle.errors import DiskError
from bridle.ground import disk
from bridle.journal.format.state import State
from bridle.journal.stores.chain_file import head_at
from bridle.journal.stores.file_store import FileStore
from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.loop.run_inputs import WORDING

FOLDER = "receipts"
# A receipt has a few kilobytes a task.
_LIMIT_BYTES = 64 * 1024 * 1024


class CachedReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """A receipt with what it was computed from."""

    sequence: int
    """The number of the journal's last entry."""
    head: str
    """The digest of the chain at it, which covers all entries."""
    wording: int = WORDING
    version: str = __version__
    fields: tuple[str, ...] = (*Receipt.__struct_fields__, *TaskReceipt.__struct_fields__)
    """What a receipt consists of: a version that is being developed has the number of the one before it."""
    receipt: Receipt


def read(store: FileStore, state: State, home: Path) -> Receipt | None:
    """Return the cached receipt of a run in this state; None if it is not cached.

    Raise JournalBroken for a result that was changed, as a replay does.
    """
    try:
        data = disk.read_if_exists(home / FOLDER / store.run.name, _LIMIT_BYTES)
        cached = None if data is None else msgspec.json.decode(data, type=CachedReceipt)
    except (DiskError, msgspec.DecodeError):
        return None
    if cached is None or cached != _cached(store.run, state, cached.receipt):
        return None
    store.verify_results(state.resolved)
    return cached.receipt


def write(run: Path, state: State, receipt: Receipt, home: Path) -> None:
    """Cache the receipt of a run in this state. A failure is not an error: the next reader replays the journal."""
    cached = _cached(run, state, receipt)
    if cached is None:
        return
    try:
        data = msgspec.json.encode(cached)
        if repr(msgspec.json.decode(data, type=CachedReceipt)) == repr(cached):  # equal, and with the same types
            disk.replace_cache(disk.make_private_folder(home / FOLDER) / run.name, data)
    except (DiskError, UnicodeError, msgspec.MsgspecError):
        pass


def remove(run: str, home: Path) -> None:
    """Remove the cached receipt of a run that is removed."""
    try:
        (home / FOLDER / run).unlink(missing_ok=True)
    except OSError:
        pass  # a file that stays counts for no other run


def _cached(run: Path, state: State, receipt: Receipt) -> CachedReceipt | None:
    """Return what the cache of a run in this state must contain; None for a run of an earlier version: no chain."""
    if state.last is None:
        return None
    head = head_at(run, state.last.seq)
    return None if head is None else CachedReceipt(sequence=state.last.seq, head=head, receipt=receipt)
