"""Reads what a prompt mentions as @path inside the allowed directories: files, folders and pictures."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bridle.agent.tools.contract.tool import as_block
from bridle.agent.tools.files.excerpt import BinaryFile, FileTooLarge, NotRegularFile, read_excerpt
from bridle.agent.tools.files.images import SUFFIXES as IMAGES
from bridle.agent.tools.files.images import image_content
from bridle.agent.tools.files.known_files import FileMemory, KnownFile, View

# The text of one file; the model can read a larger file in parts.
FILE_LIMIT_BYTES = 256 * 1024
LINE_LIMIT = 2000

# A text that mentions more is a list of files rather than a request to read them.
FILE_LIMIT = 20

# More names say little about a folder.
ENTRY_LIMIT = 1000

_MENTION = r"""(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|([^\s"()]+))"""


class Mention(msgspec.Struct, frozen=True):
    """A mentioned file, folder or picture."""

    path: Path
    blocks: list[dict[str, Any]]
    """The content for the model."""


def read_mentions(
    text: str,
    cwd: Path,
    folders: Sequence[Path],
    *,
    memory: FileMemory,
    may_read: Callable[[Path], bool] | None = None,
) -> list[Mention]:
    """Return what is mentioned, without paths outside the folders, denied, too large, or neither text nor picture.

    `memory` records the files as read, so they can be edited.
    """
    roots = [os.path.realpath(folder) for folder in (cwd, *folders)]
    found: dict[str, Mention] = {}
    for quoted, bare in re.findall(_MENTION, text.replace("\0", " ")):
        name = quoted or bare.rstrip(".,;:!?") or bare
        path = os.path.realpath(os.path.join(cwd, os.path.expanduser(name)))
        if path in found or len(found) == FILE_LIMIT or not any(_is_inside(path, root) for root in roots):
            continue
        if may_read is not None and not may_read(Path(path)):
            continue
        try:
            blocks = _blocks(Path(path), memory)
        except (OSError, BinaryFile, FileTooLarge, NotRegularFile):  # also missing, or exchanged since it was resolved
            continue
        if blocks:
            found[path] = Mention(Path(path), blocks)
    return list(found.values())


def _is_inside(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _blocks(path: Path, memory: FileMemory) -> list[dict[str, Any]]:
    if path.is_dir():
        return [as_block(f"The folder {path}, mentioned in the message, has:\n{_listing(path)}")]
    if path.suffix.lower() in IMAGES:
        content = image_content(path)
        return [as_block(f"The picture {path}, mentioned in the message:"), *content] if content else []
    return _file(path, memory)


def _listing(folder: Path) -> str:
    with os.scandir(folder) as entries:
        names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in entries)
    more = [f"… and {len(names) - ENTRY_LIMIT} more"] if len(names) > ENTRY_LIMIT else []
    return "\n".join([*names[:ENTRY_LIMIT], *more]) or "(nothing)"


def _file(path: Path, memory: FileMemory) -> list[dict[str, Any]]:
    view = View(limit=LINE_LIMIT)
    excerpt = read_excerpt(path, view, threading.Event())
    if excerpt.size > FILE_LIMIT_BYTES:
        raise FileTooLarge(excerpt.size)
    lines, state = excerpt.lines, excerpt.state
    is_cut = excerpt.total > len(lines)
    memory.remember(
        KnownFile(str(path), state.st_mtime_ns, state.st_size, excerpt.digest, is_cut, view if is_cut else View())
    )
    part = f", the first {len(lines)} of {excerpt.total} lines (Read returns the others)" if is_cut else ""
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1))
    return [as_block(f"The file {path}, mentioned in the message{part}:\n{numbered}")]
