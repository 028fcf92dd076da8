"""Changing a file that the model knows: the checks before, the writing, and what is remembered after."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass
from pathlib import Path

from bridle.agent.tools.contract.shown_output import size as human_size
from bridle.agent.tools.contract.tool import Answer, failed, refused
from bridle.agent.tools.contract.tool_paths import cannot_check, told
from bridle.agent.tools.files.excerpt import NotRegular, open_regular
from bridle.agent.tools.files.known_files import FileMemory, Known, digest_of, key
from bridle.agent.tools.files.save import Overtaken, save
from bridle.agent.tools.files.text_file import TextFile, decode

# An edit holds the file several times over in memory, and its event carries the whole old text.
LIMIT_BYTES = 32 * 1024 * 1024

NOT_READ = "File has not been read yet. Read it first before writing to it."
MODIFIED = (
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
)


@dataclass(frozen=True)
class Found:
    """A file on the disk that is about to be changed."""

    data: bytes
    text: TextFile
    state: os.stat_result


class Unchangeable(Exception):
    """The call ends here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.content)
        self.answer = answer


def find(path: Path, tool: str) -> Found | None:
    """The file as it is now; None when there is none. Raises Unchangeable for what is no file or not for us."""
    try:
        with open_regular(path) as file:
            state = os.fstat(file.fileno())
            if state.st_size > LIMIT_BYTES:
                raise Unchangeable(_too_large(state.st_size))
            data = file.read()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise Unchangeable(cannot_check(tool, "EISDIR: illegal operation on a directory, read")) from error
    except OSError as error:
        raise Unchangeable(cannot_check(tool, told(error, path))) from error
    except NotRegular as error:
        raise Unchangeable(refused(f"{path} is a pipe, a socket or a device, and cannot be edited.")) from error
    return Found(data, decode(data), state)


def require_known(memory: FileMemory, path: Path, found: Found) -> None:
    """The model must know the file in the state that it is in."""
    known = memory.of(path)
    if known is None:
        raise Unchangeable(refused(NOT_READ))
    if (known.mtime_ns, known.size) == (found.state.st_mtime_ns, found.state.st_size):
        return
    # Touched but the same: a tool that rewrites files without changing them is no reason to read again.
    if known.digest != digest_of(found.data):
        raise Unchangeable(refused(MODIFIED))


def put(
    memory: FileMemory, path: Path, data: bytes, *, found: Found | None, abandoned: threading.Event
) -> Answer | None:
    """Write the file, and remember that the model knows it; an answer only if it could not be done."""
    try:
        state = save(path, data, expected=found.state if found else None, cancelled=abandoned)
    except Overtaken:
        return refused(MODIFIED)
    except OSError as error:
        return failed(told(error, path))
    memory.remember(Known(key(path), state.st_mtime_ns, state.st_size, digest_of(data)))
    return None


def encoded(found: Found, raw: str, path: Path) -> bytes:
    """The text in the encoding of the file."""
    try:
        return found.text.encode(raw)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise Unchangeable(
            failed(
                f"{path} is encoded in {found.text.encoding}, which has no {letter!r}. Write the text without it, or "
                "convert the file to UTF-8 first (iconv) and read it again."
            )
        ) from error


def is_folder(path: Path) -> bool:
    """Whether the path leads to a folder."""
    try:
        return stat.S_ISDIR(os.stat(path).st_mode)
    except OSError:
        return False


def _too_large(size: int) -> Answer:
    return failed(
        f"File ({human_size(size)}) is too large to edit; the limit is {human_size(LIMIT_BYTES)}. "
        "Change it with a program instead (sed, a script), through Bash."
    )
