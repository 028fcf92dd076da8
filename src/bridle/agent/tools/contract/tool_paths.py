"""Resolves the paths of tool calls, and formats the errors about them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from bridle.agent.tools.contract.tool import PathInput, ToolResult, rejected_call
from bridle.ground.files import real_path

# The wording of Claude Code, which programs match and models know: code, description, failed call.
_DESCRIPTIONS = {
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
# The system call that fails with it: a file is looked up, then opened, then read.
_SYSTEM_CALLS = {errno.ELOOP: "statx", errno.ENAMETOOLONG: "statx", errno.ENOTDIR: "statx", errno.EISDIR: "read"}


def path_of_call(request: PathInput, folder: Path, text: str) -> Path:
    """Return the path that was allowed, else the argument with links resolved; a loop of links is left in it."""
    resolved = request.resolved or real_path.resolve(text, str(folder), os.path.expanduser("~"))
    return Path(resolved or os.path.normpath(os.path.join(folder, text)))


def describe_os_error(error: OSError, path: Path) -> str:
    """Describe an operating system error in the wording of Claude Code."""
    number = error.errno or 0
    call = _SYSTEM_CALLS.get(number, "open")
    code = errno.errorcode.get(number, "EIO")
    description = _DESCRIPTIONS.get(number) or (error.strerror or str(error)).lower()
    return f"{code}: {description}, {call} '{path}'"


def cannot_check_call(tool: str, reason: str) -> ToolResult:
    """Return the result of a call that failed before the tool did anything."""
    text = f"Error calling tool ({tool}): {reason}"
    return ToolResult(f"<tool_use_error>{text}</tool_use_error>", detail=text, is_error=True)


def reject_invalid_path(text: str) -> ToolResult | None:
    """Return an error for a path that no file can have."""
    if "\0" in text:
        return rejected_call("The path contains a NUL character. Pass the path without it.")
    return None


def missing_file_message(path: Path, folder: Path) -> str:
    """Return the error for a missing file, with a similar path if there is one."""
    text = f"File does not exist. Note: your current working directory is {folder}."
    similar = _below_folder(path, folder) or _same_stem(path)
    return f"{text} Did you mean {similar}?" if similar else text


def _below_folder(path: Path, folder: Path) -> str | None:
    """Return the same path below the working directory, whose name models often omit."""
    try:
        rest = path.relative_to(folder.parent)
    except ValueError:
        return None
    candidate = folder / rest
    return str(candidate) if candidate != path and os.path.exists(candidate) else None


def _same_stem(path: Path) -> str | None:
    """Return a file of the same directory that differs only in its suffix."""
    try:
        with os.scandir(path.parent) as entries:
            names = sorted(entry.name for entry in entries if Path(entry.name).stem == path.stem)
    except OSError:
        return None
    return next((name for name in names if name != path.name), None)
