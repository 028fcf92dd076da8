"""Repair a journal that cannot be read, with a backup of the old one.

Valid entries that can follow one another are kept with their text; a number or an id changes only if necessary.
Entries that are missing or invalid are restored from the pack if it has them. The repaired journal replaces the broken
one in one step if the kernel can exchange two names, else in two; the next repair completes one that was killed between
the two.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from bridle.errors import DiskError, JournalBroken, RunNotFound
from bridle.ground import disk
from bridle.ground.ulid import RANDOM_BYTES, is_ulid, next_ulid
from bridle.journal.format import codec, folder_names, layout
from bridle.journal.format.entries import EFFECT_REQUESTED, EFFECT_RESOLVED, RUN_CREATED, Entry
from bridle.journal.format.state import State, file_name
from bridle.journal.stores import read_pack
from bridle.journal.stores.chain_file import note_repair
from bridle.journal.stores.file_reader import ENTRY_LIMIT_BYTES

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

    __slots__ = ("dropped", "files", "kept", "missing", "restored")

    def __init__(self) -> None:
        self.files: list[str] = []
        """The present names of entries."""
        self.kept: list[tuple[str, str]] = []
        """The old and the new name of each kept file."""
        self.dropped: list[Dropped] = []
        self.missing: list[str] = []
        """The entries whose files are missing and that the pack lacks: the name, or the number if that is all."""
        self.restored: dict[str, bytes] = {}
        """The name and the text of each entry that was missing or invalid and that the pack has."""

    @property
    def is_needed(self) -> bool:
        return bool(self.dropped or self.missing or self.restored) or any(old != new for old, new in self.kept)

    @property
    def unchanged(self) -> int:
        """How many entries at the beginning stay as they are."""
        pairs = enumerate(self.kept)
        return next((at for at, (old, new) in pairs if old != new or old in self.restored), len(self.kept))

    def count(self, sort: str) -> int:
        """Return how many files are dropped for that reason."""
        return sum(item.sort == sort for item in self.dropped)


def plan_repair(run: Path) -> Plan:
    """Read every file of the journal and decide which to keep; raise JournalBroken if the first entry is lost."""
    journal, plan, state = run / layout.JOURNAL, Plan(), State()
    if not journal.is_dir():
        raise RunNotFound(f"no journal at {journal}", remedy="Check the path of the run.")
    plan.files = folder_names.list_file_names(journal)
    packed = _packed(run, plan.files)
    for name in folder_names.in_order({*plan.files, *packed}):
        try:
            entry = codec.decode(state.position.seq + 1, _next_id(name, state), _text(journal, name, plan, packed))
        except (DiskError, codec.BadText) as error:
            if name in plan.files:
                plan.dropped.append(Dropped(name, str(error), "corrupt"))
            continue
        try:
            state.apply(entry)
        except JournalBroken as error:
            plan.dropped.append(Dropped(name, error.message, _sort(entry)))
            plan.restored.pop(name, None)
            continue
        plan.kept.append((name, file_name(entry.seq, entry.ulid)))
    _check_first(run, state)
    plan.missing = _missing(plan, packed)
    known = set(plan.files)
    leftovers = sorted(name for name in os.listdir(journal) if name not in known)
    plan.dropped += [Dropped(name, "it is not an entry", "leftover") for name in leftovers]
    return plan


def _packed(run: Path, files: list[str]) -> dict[str, Entry | None]:
    """Return the entries in the pack by name, without those whose number another file has."""
    packed = read_pack.read_names(run / layout.STATE / layout.PACK_FILE)
    names = {file_name(seq, ulid): entry for (seq, ulid), entry in packed.items()}
    numbers = _numbers(files)
    if next(iter(names), None) not in files and 1 in numbers:
        return {}  # the pack of another journal
    return {name: entry for name, entry in names.items() if name in files or not _numbers([name]) <= numbers}


def _text(journal: Path, name: str, plan: Plan, packed: dict[str, Entry | None]) -> bytes:
    """Return the text of an entry from its file, else from the pack."""
    try:
        text = disk.read_bounded(journal / name, ENTRY_LIMIT_BYTES)
        codec.check(text)
    except (DiskError, codec.BadText):
        entry = packed.get(name)
        if entry is None:
            raise
        text = plan.restored[name] = codec.encode(entry.type, entry.recorded_at, entry.data)
    return text


def _check_first(run: Path, state: State) -> None:
    """Raise if the journal would not begin with RUN_CREATED, by which run.json and the inputs are verified."""
    if state.created is None or state.created.seq != 1:
        raise JournalBroken(
            f"the journal {run / layout.JOURNAL} cannot be repaired: its first entry, {RUN_CREATED}, is lost",
            remedy="Restore the journal from a backup, or create a new run.",
        )


def _missing(plan: Plan, packed: dict[str, Entry | None]) -> list[str]:
    """Return the entries that are lost: gaps in the numbers, and entries that the pack names."""
    numbers = _numbers([*plan.files, *plan.restored])
    missing = {number: f"{number:06d}" for number in range(1, max(numbers, default=0)) if number not in numbers}
    for name in packed:
        missing |= dict.fromkeys(_numbers([name]) - numbers, name)
    return [missing[number] for number in sorted(missing)]


def _numbers(names: list[str]) -> set[int]:
    return {name[0] for name in map(codec.parse_name, names) if name is not None}


def carry_out(run: Path, plan: Plan) -> Path:
    """Replace the journal by the repaired one and return the backup. Only under the run's lock."""
    journal, moment = run / layout.JOURNAL, time.time_ns() // 1_000_000
    repaired, backup = run / f"{_REPAIRED_PREFIX}{moment}", run / f"{layout.BACKUP_PREFIX}{moment}"
    disk.make_private_folder(repaired)
    for old, new in plan.kept:
        text = plan.restored.get(old)
        disk.write_new(repaired / new, disk.read_bounded(journal / old, ENTRY_LIMIT_BYTES) if text is None else text)
    disk.sync_folder(repaired)
    note_repair(run, plan.unchanged)
    # Before the exchange: the repaired journal may lack entries that the pack has.
    for name in (layout.PACK_FILE, layout.STATE_FILE):
        (run / layout.STATE / name).unlink(missing_ok=True)
    if _exchange(journal, repaired):
        os.rename(repaired, backup)
    else:
        os.rename(journal, backup)
        os.rename(repaired, journal)
    disk.sync_folder(run)
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
