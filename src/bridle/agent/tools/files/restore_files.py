"""Restores which files the model of a resumed session has read or written, as far as they are still the same."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bridle.agent.tools.files.change import LIMIT_BYTES
from bridle.agent.tools.files.excerpt import NotRegularFile, open_regular
from bridle.agent.tools.files.known_files import FileMemory, KnownFile, file_digest
from bridle.agent.tools.files.text_file import decode

_PATHS = {"Read": "file_path", "Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}


def path_of(name: str, arguments: dict[str, Any], cwd: str) -> Path | None:
    """Return the resolved path of a call that read or wrote a file; None for any other."""
    path = arguments.get(_PATHS.get(name, ""))
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    return Path(os.path.realpath(os.path.join(cwd, os.path.expanduser(path))))


def restore_file(memory: FileMemory, path: Path, known: str | None, *, ended_ms: int) -> None:
    """Record a file as known.

    `known` is its text as the call returned or wrote it. Without the whole text its time counts: a file that was
    written after the call ended must be read again.
    """
    try:
        with open_regular(path) as file:
            state = os.fstat(file.fileno())
            data = file.read() if state.st_size <= LIMIT_BYTES else b""
    except (OSError, NotRegularFile):
        return
    is_same = state.st_mtime_ns // 1_000_000 <= ended_ms if known is None else _lf(known) == decode(data).text
    if is_same:
        memory.remember(KnownFile(str(path), state.st_mtime_ns, state.st_size, file_digest(data)))
    else:
        memory.remember(KnownFile(str(path), 0, -1, ""))  # it was read, and has changed since


def known_text(name: str, detail: dict[str, Any]) -> str | None:
    """Return the whole text of the file after a call; None if its result has only a part of it."""
    if name == "Write":
        return _text(detail.get("content"))
    file = detail.get("file")
    if name != "Read" or detail.get("type") != "text" or not isinstance(file, dict):
        return None
    is_whole = file.get("startLine") in (0, 1) and file.get("numLines") == file.get("totalLines")
    return _text(file.get("content")) if is_whole and not file.get("truncatedByTokenCap") else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")
