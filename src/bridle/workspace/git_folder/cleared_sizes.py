"""Sizes in an index that are set to 0: git compares the content of such entries, whatever their stat data are."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from bridle.ground import disk
from bridle.workspace.git_folder import index_file


class ClearedSizes:
    """The sizes of one index that were set to 0, by their positions."""

    def __init__(self, path: Path, id_length: int) -> None:
        self._path, self._id_length = path, id_length
        self._sizes: dict[int, bytes] = {}

    def clear(self, positions: Iterable[int]) -> None:
        """Set the sizes at these positions to 0, instead of those before."""
        data = bytearray(self._path.read_bytes())
        self._sizes = {at: bytes(data[at : at + 4]) for at in positions}
        if not any(any(size) for size in self._sizes.values()):
            return
        for at in self._sizes:
            data[at : at + 4] = bytes(4)
        index_file.seal(data, self._id_length)
        rewrite(self._path, bytes(data))

    def clear_recent(self, seconds: range) -> None:
        """Set the sizes of the entries whose ctime is in these seconds to 0, instead of those before."""
        self.forget()
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return
        if data[:8] in (index_file.VERSION_2, index_file.VERSION_3):
            self.clear(index_file.recent_sizes(data, seconds))

    def restored(self) -> bytes:
        """Return the content of the index with its sizes."""
        data = bytearray(self._path.read_bytes())
        for at, size in self._sizes.items():
            data[at : at + 4] = size
        index_file.seal(data, self._id_length)
        return bytes(data)

    def restore(self) -> bool:
        """Write the sizes into the index again; return whether any were cleared."""
        if not self._sizes:
            return False
        rewrite(self._path, self.restored())
        self.forget()
        return True

    def forget(self) -> None:
        """Forget the sizes: git has compared the files, and written their sizes."""
        self._sizes = {}


def rewrite(path: Path, data: bytes) -> None:
    """Replace the content; the mtime stays, by which git knows which entries it must compare with the files."""
    facts = path.stat()
    disk.write_private(path, data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
