"""The caches of a run as they were before its journal was listed.

An entry is written before the caches have it. So whatever they have when they are read first is in the journal that is
listed after them, also while another program writes.
"""

from __future__ import annotations

from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.journal.format import codec, folder_names, layout
from bridle.journal.stores import read_pack
from bridle.journal.stores.effect_files import FILE_LIMIT_BYTES
from bridle.journal.stores.file_reader import FileReader


class Caches:
    """The content of state.json and of the pack."""

    __slots__ = ("has_pack", "names", "pack_was_changed", "packed", "snapshot", "snapshot_fault")

    def __init__(self, run: Path, reader: FileReader) -> None:
        self.snapshot: dict[str, object] | None = None
        """The content of state.json; None if it is missing or not JSON."""
        self.snapshot_fault: str | None = None
        """Why it cannot be read."""
        self.packed = read_pack.Packed()
        self.names: list[folder_names.Name] = []
        """The numbers and ids of the entries in the pack."""
        self.pack_was_changed = False
        self._read_snapshot(run / layout.STATE / layout.STATE_FILE)
        pack = run / layout.STATE / layout.PACK_FILE
        self.has_pack = pack.is_file()  # not a named pipe
        if self.has_pack:
            self.packed = read_pack.read_all(pack, reader.load)
            self.names = list(read_pack.read_names(pack))
            self.pack_was_changed = read_pack.was_changed(pack.read_bytes())

    @property
    def files(self) -> int:
        """How many files were read."""
        return (self.snapshot is not None or self.snapshot_fault is not None) + self.has_pack

    def _read_snapshot(self, path: Path) -> None:
        if not path.exists():
            return
        try:
            self.snapshot = codec.parse_object(disk.read_bounded(path, FILE_LIMIT_BYTES))
        except (DiskError, codec.BadText) as error:
            self.snapshot_fault = str(error)
