"""SHA-256 without `hashlib`, whose import loads a cryptographic library that a hook has no other use for."""

from __future__ import annotations

try:  # the interpreter's own code: in one module since Python 3.12, in another before
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]  # it has no stub
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]  # it has no stub
    except ImportError:  # a Python that was built without
        from hashlib import sha256 as _sha256


def sha256(data: bytes) -> str:
    """The digest, as hexadecimal digits."""
    return str(_sha256(data).hexdigest())
