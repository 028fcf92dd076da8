"""Files that a text names as @path: those inside the working folders are sent along."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from bridle.agent.skills import skill_files

# What Read gives at once; a larger file is read by its parts, when the model wants them.
FILE_LIMIT_BYTES = 256 * 1024

# A text that names more is a list of files and not a wish to have them all read.
FILE_LIMIT = 20

_MENTION = r"""(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|([^\s"()]+))"""


class MentionedFile(msgspec.Struct, frozen=True):
    """A file that goes along with a text."""

    path: Path
    text: str
    """What the model is told about it."""


def read_mentions(
    text: str, cwd: Path, folders: Sequence[Path], *, may_read: Callable[[Path], bool] | None = None
) -> list[MentionedFile]:
    """The files that a text names; what is outside the folders, refused, too large or no text is left alone."""
    roots = [os.path.realpath(folder) for folder in (cwd, *folders)]
    found: dict[str, MentionedFile] = {}
    for quoted, bare in re.findall(_MENTION, text.replace("\0", " ")):
        place = os.path.realpath(os.path.join(cwd, os.path.expanduser(quoted or bare.rstrip(".,;:!?"))))
        if place in found or len(found) == FILE_LIMIT or not any(_is_inside(place, root) for root in roots):
            continue
        if may_read is not None and not may_read(Path(place)):
            continue
        if (content := _content(Path(place))) is not None:
            found[place] = MentionedFile(
                Path(place), f"The file {place}, which the message names:\n{_numbered(content)}"
            )
    return list(found.values())


def _is_inside(place: str, root: str) -> bool:
    return place.startswith(root.rstrip("/") + "/")


def _content(path: Path) -> str | None:
    try:
        if path.stat().st_size > FILE_LIMIT_BYTES:
            return None
    except OSError:  # there is none; or its name is too long to be one
        return None
    text = skill_files.read_text(path)
    return None if text is None or "\0" in text else text


def _numbered(text: str) -> str:
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), start=1))
