"""Reads the files that a prompt mentions as @path inside the allowed directories."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from bridle.ground import real_path

# What Read returns at once; the model can read a larger file in parts.
FILE_LIMIT_BYTES = 256 * 1024

# A text that mentions more is a list of files rather than a request to read them.
FILE_LIMIT = 20

_MENTION = r"""(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|([^\s"()]+))"""


class MentionedFile(msgspec.Struct, frozen=True):
    """A mentioned file."""

    path: Path
    text: str
    """The text for the model."""


def read_mentions(
    text: str, cwd: Path, folders: Sequence[Path], *, may_read: Callable[[Path], bool] | None = None
) -> list[MentionedFile]:
    """Return the mentioned files, without those outside the folders, denied, too large or not text."""
    roots = [os.path.realpath(folder) for folder in (cwd, *folders)]
    files: dict[str, MentionedFile] = {}
    for quoted, bare in re.findall(_MENTION, text.replace("\0", " ")):
        path = os.path.realpath(os.path.join(cwd, os.path.expanduser(quoted or bare.rstrip(".,;:!?"))))
        if path in files or len(files) == FILE_LIMIT or not any(_is_inside(path, root) for root in roots):
            continue
        if may_read is not None and not may_read(Path(path)):
            continue
        if (content := _content(Path(path))) is not None:
            files[path] = MentionedFile(Path(path), f"The file {path}, mentioned in the message:\n{_numbered(content)}")
    return list(files.values())


def _is_inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _content(path: Path) -> str | None:
    try:
        # O_NONBLOCK: opening a named pipe without a writer would block.
        fd = real_path.open_file(str(path), os.O_RDONLY | os.O_NONBLOCK)
    except OSError:  # missing, not a valid path, or exchanged for a link since it was resolved
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return None
    with open(fd, "rb") as file:
        data = file.read(FILE_LIMIT_BYTES + 1)
    return None if len(data) > FILE_LIMIT_BYTES or b"\0" in data else data.decode("utf-8", "replace")


def _numbered(text: str) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), start=1))
