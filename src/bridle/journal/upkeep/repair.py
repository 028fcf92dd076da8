"""Repair a journal that cannot be read, with a backup of the old one.

Valid entries that can follow one another are kept with their text; a number or an id changes only if necessary. The
repaired journal replaces the broken one in one step if the kernel can exchange two names, else in two; the next repair
completes one that was killed between the two.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from bridle.errors import DiskError, JournalBroken, RunNotFound
from bridle.ground import disk
from bridle.journal.format import codec, folder_names, layout
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, Entry
from bridle.journal.format.state import State, file_name
from bridle.journal.format.ulid import RANDOM_BYTES, is_ulid, next_ulid
from bridle.journal.stores import read_pack
from bridle.journal.stores.file_reader import ENTRY_LIMIT_BYTES, FileReader

_REPAIRED_PREFIX = "journal.repaired."


class Dropped:
    """A file that is dropped from the repaired journal, and why."""

    __slots__ = ("fault", "name", "sort")

    def __init__(self, name: str, fault: str, sort: str) -> None:
        self.name = name
        self.fault = fault
        self.sort = sort
        """`corrupt`, `requested`, `resolved`, or `leftover` for a file that was never an entry."""


class Plan:
    """The plan of a repair."""

    __slots__ = ("dropped", "files", "kept", "missing")

    def __init__(self) -> None:
        self.files: list[str] = []
        """The present names of entries."""
        self.kept: list[tuple[str, str]] = []
        """The old and the new name of each kept file."""
        self.dropped: list[Dropped] = []
        self.missing: list[str] = []
        """The entries that were written and whose files are missing: the name, or the number if that is all."""

    @property
    def is_needed(self) -> bool:
        return bool(self.dropped) or any(old != new for old, new in self.kept)

    def count(self, sort: str) -> int:
        """Return how many files are dropped for that reason."""
        return sum(item.sort == sort for item in self.dropped)


def plan_repair(run: Path) -> Plan:
    """Read every file of the journal and decide which to keep."""
    journal, plan, state = run / layout.JOURNAL, Plan(), State()
    if not journal.is_dir():
        raise RunNotFound(f"no journal at {journal}", remedy="Check the path of the run.")
    plan.files = folder_names.listed(journal)
    for name in plan.files:
        try:
            text = disk.read_bounded(journal / name, ENTRY_LIMIT_BYTES)
            entry = codec.decode(state.position.seq + 1, _next_id(name, state), text)
        except (DiskError, codec.BadText) as error:
            plan.dropped.append(Dropped(name, str(error), "corrupt"))
            continue
        try:
            state.apply(entry)
        except JournalBroken as error:
            plan.dropped.append(Dropped(name, error.message, _sort(entry)))
            continue
        plan.kept.append((name, file_name(entry.seq, entry.ulid)))
    plan.missing = _missing(run, plan.files)
    known = set(plan.files)
    leftovers = sorted(name for name in os.listdir(journal) if name not in known)
    plan.dropped += [Dropped(name, "it is no entry", "leftover") for name in leftovers]
    return plan


def _missing(run: Path, files: list[str]) -> list[str]:
    """Return the entries without a file: gaps in the numbers, and what only the pack still knows."""
    numbers = {name[0] for name in map(codec.parse_name, files) if name is not None}
    missing = {number: f"{number:06d}" for number in range(1, max(numbers, default=0)) if number not in numbers}
    packed = read_pack.read_all(run / layout.STATE / layout.PACK_FILE, FileReader(run).load).entries
    names = [(entry.seq, file_name(entry.seq, entry.ulid)) for entry in packed]
    if names and (names[0][1] in files or 1 not in numbers):  # else it is the pack of another journal
        missing |= {number: name for number, name in names if number not in numbers}
    return [missing[number] for number in sorted(missing)]


def carry_out(run: Path, plan: Plan) -> Path:
    """Replace the journal by the repaired one and return the backup. Only under the run's lock."""
    journal, moment = run / layout.JOURNAL, time.time_ns() // 1_000_000
    repaired, backup = run / f"{_REPAIRED_PREFIX}{moment}", run / f"{layout.BACKUP_PREFIX}{moment}"
    disk.make_private_folder(repaired)
    for old, new in plan.kept:
        disk.write_new(repaired / new, disk.read_bounded(journal / old, ENTRY_LIMIT_BYTES))
    disk.sync_folder(repaired)
    if _exchange(journal, repaired):
        os.rename(repaired, backup)
    else:
        os.rename(journal, backup)
        os.rename(repaired, journal)
    disk.sync_folder(run)
    for name in (layout.PACK_FILE, layout.STATE_FILE):
        (run / layout.STATE / name).unlink(missing_ok=True)
    return backup


def finish_interrupted(run: Path) -> None:
    """Restore the journal after a repair that was killed between its two renames."""
    journal = run / layout.JOURNAL
    backups = sorted(name for name in os.listdir(run) if name.startswith(layout.BACKUP_PREFIX))
    if not os.path.lexists(journal) and backups:
        os.rename(run / backups[-1], journal)
        disk.sync_folder(run)


def _next_id(name: str, state: State) -> str:
    """Return the id of the file if it is valid, else a new one."""
    parsed, latest = codec.parse_name(name), state.position.ulid
    if parsed is not None and parsed[1] > latest:
        return parsed[1]
    previous = latest if is_ulid(latest) else ""
    return next_ulid(previous, now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))


def _sort(entry: Entry) -> str:
    return {EFFECT_REQUESTED: "requested", EFFECT_RESOLVED: "resolved"}.get(entry.type, "corrupt")


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names atomically; return False if the kernel or the file system cannot."""
    import ctypes

    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    at_current_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(rename(at_current_folder, os.fsencode(one), at_current_folder, os.fsencode(other), exchange) == 0)
