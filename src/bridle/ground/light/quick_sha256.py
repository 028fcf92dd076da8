"""SHA-256 without `hashlib`, which would load a cryptographic library in every hook."""

from __future__ import annotations

import sys

__all__ = ["sha256"]

# The interpreter's built-in module: one name since Python 3.12, another before, missing in some builds.
try:
    sha256 = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
except ImportError:
    sha256 = __import__("hashlib").sha256
