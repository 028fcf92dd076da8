"""SHA-256 without `hashlib`, whose import loads a cryptographic library that a hook has no other use for."""

from __future__ import annotations

from types import ModuleType

from bridle.ground.light.quick_path import Path

# Read at once, of a file of any size.
_READ_BYTES = 1024 * 1024


def sha256(data: bytes) -> str:
    """The digest, as hexadecimal digits."""
    return str(_sha256(data).hexdigest())


def sha256_of_file(path: Path) -> str:
    """The digest of a file of any size."""
    whole = _sha256()
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            whole.update(chunk)
    return str(whole.hexdigest())


def _module() -> ModuleType:
    # The interpreter's own code: in one module since Python 3.12, in another before, in none where it was built so.
    for name in ("_sha2", "_sha256"):
        try:
            return __import__(name)
        except ImportError:
            continue
    return __import__("hashlib")


_sha256 = _module().sha256
