"""What a check prints: all of it in a private log, as it is; its two ends as text for prompts and people, masked."""

from __future__ import annotations

import os
import re
from datetime import datetime
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock, disk, ids
from bridle.run.logs import private_folder
from bridle.wire.mask import Mask

FOLDER = Path(".ralph") / "logs" / "checks"

# What of a check's output is kept in its log; one that prints more is not read for it. Its end is kept besides.
KEPT_BYTES = 128 * 1024 * 1024
# The end of an output says what failed; of its beginning the first screen says what was run.
HEAD_CHARACTERS = 2_000
TAIL_CHARACTERS = 14_000

# A character takes at most this many bytes.
_CHARACTER_BYTES = 4
# Checks of one task that begin in the same millisecond; more than this is not a coincidence.
_NAMES_TRIED = 1000

_SEQUENCES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-~]"
)
# All but tab and the end of a line: no argument of a program can carry them all.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class Output:
    """The output of one check, taken in as it comes."""

    def __init__(self, path: Path, fd: int, mask: Mask, *, kept_bytes: int = KEPT_BYTES) -> None:
        self.path = path
        self._fd = fd
        self._mask = mask
        self._kept_bytes = kept_bytes
        self._size_bytes = 0
        # As far beyond what is shown as a secret can reach, so that none is cut in two before it is masked.
        self._head_bytes = _CHARACTER_BYTES * (HEAD_CHARACTERS + 2 * mask.reach)
        self._tail_bytes = _CHARACTER_BYTES * (TAIL_CHARACTERS + 2 * mask.reach)
        self._head, self._tail = bytearray(), bytearray()

    @classmethod
    def create(cls, workspace: Path, moment: datetime, name: str, number: int, mask: Mask) -> Output:
        """Make the log under a name that nobody else has."""
        folder = private_folder(workspace, FOLDER)
        stem = f"{clock.stamp(moment)}-{ids.safe_name(name)}-{number}"
        for again in range(1, _NAMES_TRIED):
            path = folder / (f"{stem}.log" if again == 1 else f"{stem}.{again}.log")
            try:
                return cls(path, disk.create_exclusive(path), mask)
            except DiskError as refusal:
                if not isinstance(refusal.__cause__, FileExistsError):
                    raise
        raise DiskError(f"{folder} holds {_NAMES_TRIED} logs called {stem}", remedy="clean up the folder")

    def add(self, chunk: bytes) -> None:
        """Take in what was printed; called from the thread that reads."""
        room = max(0, self._kept_bytes - self._size_bytes)
        if room:
            disk.write_all(self._fd, chunk[:room])
        self._size_bytes += len(chunk)
        missing = self._head_bytes - len(self._head)
        if missing > 0:
            self._head += chunk[:missing]
            chunk = chunk[missing:]
        self._tail = (self._tail + chunk)[-self._tail_bytes :]

    def close(self) -> None:
        """Make the log durable; doing it twice is fine."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            dropped = self._size_bytes - self._kept_bytes
            if dropped > 0:
                tail = bytes(self._tail[-dropped:])
                disk.write_all(fd, f"\n… {dropped - len(tail)} bytes left out …\n".encode() + tail)
            disk.sync(fd)
        finally:
            os.close(fd)

    @property
    def text(self) -> str:
        """All of it where it is short, else its two ends; without secrets, colours and control characters."""
        if self._size_bytes <= len(self._head) + len(self._tail):
            whole = self._plain(self._head + self._tail)
            if len(whole) <= HEAD_CHARACTERS + TAIL_CHARACTERS:
                return whole
            head, tail = whole[:HEAD_CHARACTERS], whole[-TAIL_CHARACTERS:]
        else:
            # A secret that goes over the edge of what is kept is not seen as one: nothing that near to it is shown.
            head = self._plain(self._head)[: -self._mask.reach][:HEAD_CHARACTERS]
            tail = self._plain(self._tail)[self._mask.reach :][-TAIL_CHARACTERS:]
        return f"{head}\n… the middle of {self._size_bytes} bytes is left out …\n{tail}"

    def _plain(self, data: bytes | bytearray) -> str:
        """Masked before the colours are taken out and after: a secret may be printed in pieces of both kinds."""
        text = self._mask.apply(data.decode("utf-8", "replace"))
        text = _SEQUENCES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
        return self._mask.apply(_CONTROL.sub("", text))
