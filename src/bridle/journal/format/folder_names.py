"""The names in a journal's folder, and a mark on the folder by which a change is noticed without listing it.

Listing twenty thousand names costs more than everything else that a hook does. So each writer sets the folder's time
of change to a moment of its own choosing, with digits of chance, and notes it in the pack. Whoever adds or removes a
name after that, Bridle or not, changes that time: as long as it stands, the pack tells all there is. Where the time
cannot be set or is kept too coarsely there is no mark, and the folder is listed.
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

# Listings with a gap in them, each other than the one before: more than any number of writers brings about.
LISTINGS = 100

_CHANCE = 1_000_000  # nanoseconds of the mark that are chance: less than any clock's error, enough to be unique

Name = tuple[int, str]
"""The number and the id of an entry, which together are the name of its file."""

Mark = tuple[int, int]
"""The folder itself (its inode), and its time of change in nanoseconds."""


def list_names(journal: Path) -> list[Name]:
    """Every entry's name, in order; what writers left on their way is passed over, a foreign file is an error.

    A long folder is not listed in one moment: of two entries that are written meanwhile the later may be seen and the
    earlier not. So a gap is believed only where the next listing is the same.
    """
    found = _listing(journal)
    for _ in range(LISTINGS):
        if not found or found[-1][0] == len(found):
            break
        again = _listing(journal)
        if again == found:
            break
        found = again
    return found


def _listing(journal: Path) -> list[Name]:
    try:
        found = os.listdir(journal)
    except FileNotFoundError as error:
        raise RunNotFound(f"there is no journal at {journal}", remedy="Check the run's folder.") from error
    except OSError as error:
        raise JournalBroken(f"the journal {journal} cannot be listed: {error.strerror}") from error
    return sorted(_names_in(found, journal))


def listed(journal: Path) -> list[str]:
    """The names of all files that claim to be entries, in order of number, good or not."""
    claims = [name for name in os.listdir(journal) if name.endswith(".json") and not name.startswith(".")]
    return sorted(claims, key=lambda name: (_number(name), name))


def names_crc(names: Iterable[Name], before: int = 0) -> int:
    """A checksum of names; that of a longer list goes on from that of a shorter one."""
    return crc32("".join(file_name(seq, ulid) for seq, ulid in names).encode(), before)


def mark_of(journal: Path) -> Mark | None:
    """The mark that the folder has now."""
    try:
        found = os.stat(journal)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def is_settled(mark: Mark) -> bool:
    """Whether a time that the kernel set is old enough that a later change could not have had the same one."""
    return time.time_ns() - mark[1] > SETTLED_NANOSECONDS


def set_mark(journal: Path, chance: bytes) -> Mark | None:
    """Give the folder a mark that nobody else would; None where that cannot be done."""
    moment = time.time_ns() // _CHANCE * _CHANCE + int.from_bytes(chance, "big") % _CHANCE
    try:
        os.utime(journal, ns=(moment, moment))
    except OSError:  # not our folder
        return None
    mark = mark_of(journal)
    return mark if mark is not None and mark[1] == moment else None


def _names_in(found: list[str], journal: Path) -> Iterable[Name]:
    for name in found:
        if not name.endswith(".json") or name.startswith("."):
            continue
        parsed = codec.parse_name(name)
        if parsed is None:
            raise codec.bad_file(journal / name, "its name is not that of an entry")
        yield parsed


def _number(name: str) -> int:
    digits = name.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else 0
