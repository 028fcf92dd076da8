"""SHA-256 without `hashlib`, which would load a cryptographic library in every hook."""

from __future__ import annotations

from types import ModuleType

from bridle.ground.light.quick_path import Path

# The block size for reading files.
_READ_BYTES = 1024 * 1024


def sha256(data: bytes) -> str:
    """Return the digest as hexadecimal digits."""
    return str(_sha256(data).hexdigest())


def sha256_of_file(path: Path) -> str:
    """Return the digest of a file of any size."""
    whole = _sha256()
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            whole.update(chunk)
    return str(whole.hexdigest())


def _module() -> ModuleType:
    # The interpreter's built-in module: one name since Python 3.12, another before, missing in some builds.
    for name in ("_sha2", "_sha256"):
        try:
            return __import__(name)
        except ImportError:
            continue
    return __import__("hashlib")


_sha256 = _module().sha256
