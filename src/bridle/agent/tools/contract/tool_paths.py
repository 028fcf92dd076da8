"""Where a path of a tool call leads, and what is said when it leads nowhere."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from bridle.agent.tools.contract.tool import ToolResult, rejected_call

# The wording that programs and models made for the original know: code, plain words, the call that failed.
_WORDS = {
    errno.EACCES: "permission denied",
    errno.EBUSY: "resource busy or locked",
    errno.EEXIST: "file already exists",
    errno.EFBIG: "file too large",
    errno.EIO: "i/o error",
    errno.EISDIR: "illegal operation on a directory",
    errno.ELOOP: "too many symbolic links encountered",
    errno.EMFILE: "too many open files",
    errno.ENAMETOOLONG: "name too long",
    errno.ENOENT: "no such file or directory",
    errno.ENOSPC: "no space left on device",
    errno.ENOTDIR: "not a directory",
    errno.EPERM: "operation not permitted",
    errno.EROFS: "read-only file system",
}
# Which call tells it: the file is looked up, then opened, then read.
_CALLS = {errno.ELOOP: "statx", errno.ENAMETOOLONG: "statx", errno.ENOTDIR: "statx", errno.EISDIR: "read"}


def resolve_path(folder: Path, text: str) -> Path:
    """The absolute path that a call means; a relative one starts at the folder. No link is followed."""
    expanded = os.path.expanduser(text) if text == "~" or text.startswith("~/") else text
    return Path(os.path.normpath(os.path.join(folder, expanded)))


def describe_os_error(error: OSError, path: Path) -> str:
    """A refusal of the operating system in the measured form."""
    number = error.errno or 0
    call = _CALLS.get(number, "open")
    code = errno.errorcode.get(number, "EIO")
    words = _WORDS.get(number) or (error.strerror or str(error)).lower()
    return f"{code}: {words}, {call} '{path}'"


def cannot_check_call(tool: str, reason: str) -> ToolResult:
    """The call could not be examined: the system refused before anything was done."""
    text = f"Error calling tool ({tool}): {reason}"
    return ToolResult(f"<tool_use_error>{text}</tool_use_error>", detail=text, is_error=True)


def reject_invalid_path(text: str) -> ToolResult | None:
    """A path that no file can have."""
    if "\0" in text:
        return rejected_call("The path holds a NUL character, which no file name can. Give the path without it.")
    return None


def missing_file_message(path: Path, folder: Path) -> str:
    """What is said of a file that is not there, with a near one if there is one."""
    text = f"File does not exist. Note: your current working directory is {folder}."
    near = _below_folder(path, folder) or _same_stem(path)
    return f"{text} Did you mean {near}?" if near else text


def _below_folder(path: Path, folder: Path) -> str | None:
    """The same path below the working folder: a model often leaves the folder's own name out."""
    try:
        rest = path.relative_to(folder.parent)
    except ValueError:
        return None
    candidate = folder / rest
    return str(candidate) if candidate != path and os.path.exists(candidate) else None


def _same_stem(path: Path) -> str | None:
    """A neighbour that differs in its suffix only."""
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in entries if Path(entry.name).stem == path.stem)
    except OSError:
        return None
    return next((name for name in names if name != path.name), None)
