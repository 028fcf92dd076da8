"""Changes a file that the model has read: checks it, writes it, and records its new state."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

from msgspec import Struct

from bridle.agent.tools.contract.shown_output import format_size as human_size
from bridle.agent.tools.contract.tool import ToolResult, failed_result, rejected_call
from bridle.agent.tools.contract.tool_paths import cannot_check_call, describe_os_error
from bridle.agent.tools.files.excerpt import NotRegularFile, open_regular
from bridle.agent.tools.files.known_files import FileMemory, KnownFile, file_digest
from bridle.agent.tools.files.save import ChangedOnDisk, save
from bridle.agent.tools.files.text_file import TextFile, decode

# An edit holds several copies of the file in memory, and its event has the whole old text.
LIMIT_BYTES = 32 * 1024 * 1024

NOT_READ = "File has not been read yet. Read it first before writing to it."
MODIFIED = (
    "File has been modified since read, either by the user or by a linter. Read it again before attempting to write it."
)


class CurrentFile(Struct, frozen=True):
    """The current state of a file that is about to be changed."""

    data: bytes
    text: TextFile
    state: os.stat_result


class CannotChange(Exception):
    """The file cannot be changed; the call returns this result."""

    def __init__(self, result: ToolResult) -> None:
        super().__init__(result.content)
        self.result = result


def read_current(path: Path, tool: str) -> CurrentFile | None:
    """Return the current file; None if it is missing. Raise CannotChange if it cannot be read or is not a file."""
    try:
        with open_regular(path) as file:
            state = os.fstat(file.fileno())
            if state.st_size > LIMIT_BYTES:
                raise CannotChange(_too_large(state.st_size))
            data = file.read()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise CannotChange(cannot_check_call(tool, "EISDIR: illegal operation on a directory, read")) from error
    except OSError as error:
        raise CannotChange(cannot_check_call(tool, describe_os_error(error, path))) from error
    except NotRegularFile as error:
        raise CannotChange(rejected_call(f"{path} is a pipe, a socket or a device and cannot be edited.")) from error
    return CurrentFile(data, decode(data), state)


def require_read(memory: FileMemory, path: Path, current: CurrentFile) -> None:
    """Raise CannotChange unless the model has read the file in its current state."""
    known = memory.find(path)
    if known is None:
        raise CannotChange(rejected_call(NOT_READ))
    if (known.mtime_ns, known.size) == (current.state.st_mtime_ns, current.state.st_size):
        return
    # Unchanged content with a new time, as formatters write it, need not be read again.
    if known.digest != file_digest(current.data):
        raise CannotChange(rejected_call(MODIFIED))


def write_file(
    memory: FileMemory, path: Path, data: bytes, *, current: CurrentFile | None, cancelled: threading.Event
) -> ToolResult | None:
    """Write the file and record its state; return an error result if it could not be written."""
    try:
        memory.before_change(path)
        state = save(path, data, expected=current.state if current else None, cancelled=cancelled)
    except ChangedOnDisk:
        return rejected_call(MODIFIED)
    except OSError as error:
        return failed_result(describe_os_error(error, path))
    memory.remember(KnownFile(str(path), state.st_mtime_ns, state.st_size, file_digest(data)))
    return None


def encode_text(current: CurrentFile, raw: str, path: Path) -> bytes:
    try:
        return current.text.encode(raw)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise CannotChange(
            failed_result(
                f"{path} is encoded in {current.text.encoding}, which cannot encode {letter!r}. Write the text without "
                "it, or convert the file to UTF-8 first (iconv) and read it again."
            )
        ) from error


def is_folder(path: Path) -> bool:
    """Return whether the path is a directory."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _too_large(size: int) -> ToolResult:
    return failed_result(
        f"File ({human_size(size)}) is too large to edit; the limit is {human_size(LIMIT_BYTES)}. "
        "Change it with Bash instead (sed, a script)."
    )
