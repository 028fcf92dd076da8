"""Write a loose object into `.git/objects`, or note that it is used again."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path

from bridle.ground import disk


def write_loose_object(objects: str, name: str, data: bytes) -> None:
    """Write an object durably, with its header; one that is there gets a new time. Raise OSError or DiskError.

    By its time a garbage collection that runs now knows that an old object is used again, and spares it.
    """
    folder = f"{objects}/{name[:2]}"
    path = f"{folder}/{name[2:]}"
    with suppress(OSError):  # missing, or another user's
        os.utime(path)
        return
    os.makedirs(folder, exist_ok=True)
    temporary = disk.temporary_name(Path(folder))
    disk.write_new(temporary, zlib.compress(data, 1), mode=0o444)
    disk.move(temporary, Path(path))
