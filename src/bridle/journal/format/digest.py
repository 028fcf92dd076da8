"""SHA-256 without `hashlib`, which would load a cryptographic library in every hook."""

from __future__ import annotations

import sys

from bridle.ground import disk
from bridle.ground.light.quick_path import Path

# The block size for reading files.
_READ_BYTES = 1024 * 1024


def sha256(data: bytes) -> str:
    """Return the digest as hexadecimal digits."""
    return str(_sha256(data).hexdigest())


def sha256_of_file(path: Path) -> str:
    """Return the digest of a file of any size."""
    whole = _sha256()
    with open(disk.open_regular(str(path)), "rb") as file:
        while chunk := file.read(_READ_BYTES):
            whole.update(chunk)
    return str(whole.hexdigest())


# The interpreter's built-in module: one name since Python 3.12, another before, missing in some builds.
try:
    _sha256 = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
except ImportError:
    _sha256 = __import__("hashlib").sha256
