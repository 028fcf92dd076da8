"""The file names in a journal's folder, and a modification time that reveals changes without listing it.

Listing twenty thousand names costs more than everything else in a hook. So each writer sets the folder's modification
time to a value with random digits and records it in the pack. Any program that adds or removes a name changes that
time: while it is the same, the pack is complete. Without a mark (the time cannot be set, or is too coarse), the folder
is listed.
"""

from __future__ import annotations

import os
import time
from zlib import crc32

from bridle.errors import JournalBroken, RunNotFound
from bridle.ground.light.abc_names import Iterable
from bridle.ground.light.quick_path import Path
from bridle.journal.format import codec
from bridle.journal.format.state import file_name

# The kernel's clock for files ticks every 10 ms at most; file systems with a coarser one get no mark at all.
SETTLED_NANOSECONDS = 50_000_000

# Different listings with a gap: more than concurrent writers can cause.
LISTINGS = 100

_CHANCE = 1_000_000  # nanoseconds of the mark that are chance: less than any clock's error, enough to be unique

Name = tuple[int, str]
"""The number and the id of an entry, which form the name of its file."""

Mark = tuple[int, int]
"""The inode of the folder and its modification time in nanoseconds."""


def list_names(journal: Path) -> list[Name]:
    """Return the names of all entries in order; skip temporary files, raise for foreign files."""
    return sorted(_parse(_entries_of(journal), journal))


def list_new_names(journal: Path, known: int, crc: int) -> list[Name] | None:
    """Return the names after the first `known` ones; None if those do not have this checksum.

    The known names are not parsed, which would take most of the time.
    """
    found = _entries_of(journal)
    if len(found) >= known and crc32("".join(found[:known]).encode("utf-8", "surrogateescape")) == crc:
        return sorted(_parse(found[known:], journal))
    names = sorted(_parse(found, journal))
    return names[known:] if len(names) >= known and names_crc(names[:known]) == crc else None


def _entries_of(journal: Path) -> list[str]:
    try:
        return _stable_listing(journal)
    except FileNotFoundError as error:
        raise RunNotFound(f"no journal at {journal}", remedy="Check the path of the run.") from error
    except OSError as error:
        raise JournalBroken(f"could not list the journal {journal}: {error.strerror}") from error


def list_file_names(journal: Path) -> list[str]:
    """Return the names of all files with the name of an entry, valid or not, in order of number."""
    return in_order(_stable_listing(journal))


def _stable_listing(journal: Path) -> list[str]:
    """Return the names of entries' files; where numbers are missing, the second of two equal listings.

    Listing a large folder is not atomic: of two entries written during it, the later may be listed and the earlier
    not. So a gap counts only if the next listing is the same.
    """
    found = _listing(journal)
    for _ in range(LISTINGS):
        if not found or _number(found[-1]) == len(found):
            break
        again = _listing(journal)
        if again == found:
            break
        found = again
    return found


def _listing(journal: Path) -> list[str]:
    return sorted(name for name in os.listdir(journal) if name.endswith(".json") and not name.startswith("."))


def in_order(names: Iterable[str]) -> list[str]:
    """Return names of entries' files in order of number."""
    return sorted(names, key=lambda name: (_number(name), name))


def names_crc(names: Iterable[Name], before: int = 0) -> int:
    """Return a checksum of names, which can be continued for a longer list."""
    return crc32("".join(file_name(seq, ulid) for seq, ulid in names).encode(), before)


def mark_of(journal: Path) -> Mark | None:
    """Return the present mark of the folder."""
    try:
        found = os.stat(journal)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def is_settled(mark: Mark) -> bool:
    """Return whether a time is so old that a later change cannot have the same one."""
    return time.time_ns() - mark[1] > SETTLED_NANOSECONDS


def set_mark(journal: Path, chance: bytes) -> Mark | None:
    """Set a unique mark on the folder; return None if that is not possible."""
    moment = time.time_ns() // _CHANCE * _CHANCE + int.from_bytes(chance, "big") % _CHANCE
    try:
        os.utime(journal, ns=(moment, moment))
    except OSError:  # not our folder
        return None
    mark = mark_of(journal)
    return mark if mark is not None and mark[1] == moment else None


def _parse(names: list[str], journal: Path) -> Iterable[Name]:
    for name in names:
        parsed = codec.parse_name(name)
        if parsed is None:
            raise codec.bad_file(journal / name, "its name is not that of an entry")
        yield parsed


def _number(name: str) -> int:
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
