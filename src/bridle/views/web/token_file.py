"""The token of the web page: a secret in Bridle's home folder, so that a restarted server accepts open pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

NAME = "watch-token"
_BYTES = 32
_FORM = re.compile(r"[0-9a-f]{64}")


def read_or_make(home: Path) -> str:
    """Return the token; make one if the file is missing, or others could have read or written it."""
    disk.make_private_folder(home)
    path = home / NAME
    known = _read(path)
    if known is not None:
        return known
    token = os.urandom(_BYTES).hex()
    disk.write_atomic(path, token.encode() + b"\n", mode=0o600)
    return token


def _read(path: Path) -> str | None:
    """Return the token in the file if it is one, and only this user can read and write the file."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    is_private = state.st_uid == os.geteuid() and not state.st_mode & 0o177 and os.path.isfile(path)
    if not is_private or os.path.islink(path):
        return None
    try:
        text = (disk.read_if_exists(path, 1024) or b"").decode("ascii", "replace").strip()
    except DiskError:
        return None
    return text if _FORM.fullmatch(text) else None
