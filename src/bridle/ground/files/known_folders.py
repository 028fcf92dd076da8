"""What is in folders, kept in memory until they change: to read the stamp of a folder is cheaper than to list it.

The kernel renews the ctime of a folder with every entry that is added, removed or renamed. No program can choose it,
except one that may set the clock of the machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

# The coarsest time stamps of a file system, in seconds: a folder that changed so recently can change without a new one.
SETTLED_NANOSECONDS = 2_000_000_000
# One that stores nanoseconds takes them from the kernel's clock, which moves at least a hundred times a second.
SETTLED_FINE_NANOSECONDS = 100_000_000
# More are listed each time: what is kept of a folder takes some hundred bytes.
LIMIT_FOLDERS = 200_000

_Stamp = tuple[int, int, int, int]


class KnownFolders(Generic[T]):
    """The content of folders at the last look, of those that have not changed since."""

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read
        self._known: dict[str, tuple[_Stamp, T]] = {}
        self._seen: dict[str, tuple[_Stamp, T]] = {}

    def content(self, folder: str) -> T:
        """Return what the function returns for a folder; it is called only if the folder may have changed.

        OSError where the folder cannot be read; that is not kept.
        """
        facts = os.stat(folder)
        stamp = (facts.st_dev, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)
        known = self._seen.get(folder) or self._known.get(folder)
        is_settled = known is not None and known[0] == stamp  # it was when it was listed
        if known is None or not is_settled:
            is_settled = is_settled_at(facts.st_ctime_ns)  # before it is listed
            known = stamp, self._read(folder)
        if is_settled and len(self._seen) < LIMIT_FOLDERS:
            self._seen[folder] = known
        return known[1]

    def end(self) -> None:
        """Forget the folders that were not asked for since the last call."""
        self._known, self._seen = self._seen, {}


def is_settled_at(ctime_ns: int) -> bool:
    """Return whether a folder or file that changed at this time would have another ctime if it changed now."""
    is_fine = ctime_ns % 1000 != 0  # one in a thousand fine ones is taken for a coarse one
    return time.time_ns() - ctime_ns > (SETTLED_FINE_NANOSECONDS if is_fine else SETTLED_NANOSECONDS)
