"""The digests of texts and files."""

from __future__ import annotations

from bridle.ground import disk
from bridle.ground.light import quick_sha256
from bridle.ground.light.quick_path import Path

# The block size for reading files.
_READ_BYTES = 1024 * 1024


def sha256(data: bytes) -> str:
    """Return the digest as hexadecimal digits."""
    return str(quick_sha256.sha256(data).hexdigest())


def sha256_of_file(path: Path) -> str:
    """Return the digest of a file of any size."""
    whole = quick_sha256.sha256()
    with open(disk.open_regular(str(path)), "rb") as file:
        while chunk := file.read(_READ_BYTES):
            whole.update(chunk)
    return str(whole.hexdigest())
