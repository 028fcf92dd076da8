"""Paths without links, each resolved once for one start of a sandbox. The next start looks at the disk anew."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Iterator

_local = threading.local()


@contextlib.contextmanager
def resolved_once() -> Iterator[None]:
    """Let `real` resolve each path once until the block ends, in this thread."""
    if getattr(_local, "known", None) is not None:
        yield
        return
    _local.known = {"/": "/"}
    try:
        yield
    finally:
        _local.known = None


def real(path: str | os.PathLike[str]) -> str:
    """Return what `os.path.realpath` returns."""
    text, known = os.fspath(path), getattr(_local, "known", None)
    if known is None:
        return os.path.realpath(text)
    found = known.get(text)
    return _resolve(text, known) if found is None else found


def _resolve(text: str, known: dict[str, str]) -> str:
    if os.path.normpath(text) != text or not text.startswith("/") or text.startswith("//"):
        found = os.path.realpath(text)
    else:
        folder, _, name = text.rpartition("/")
        around = known.get(folder or "/") or _resolve(folder, known)
        found = f"{around.rstrip('/')}/{name}"
        try:
            if stat.S_ISLNK(os.lstat(found).st_mode):
                found = os.path.realpath(found)
        except OSError:
            pass  # it is missing: as it is
    known[text] = found
    return found
