"""Files of settings: read within limits, and never believed to be what they should be."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any, Final

import msgspec

from bridle.errors import UsageError

# People write a few kilobytes. A larger file is no settings file, and reading it would hold up every start.
SETTINGS_LIMIT_BYTES: Final = 4 * 1024 * 1024
# The register of projects grows with each project that a person opens.
REGISTER_LIMIT_BYTES: Final = 64 * 1024 * 1024


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of settings; an empty file is an empty object.

    Raises OSError, or ValueError with the reason.
    """
    data = _bounded(path, SETTINGS_LIMIT_BYTES)
    return _parse(data) if data.strip() else {}


def trusts(register: Path, folder: str) -> bool:
    """Whether a person has said that this folder is to be trusted."""
    try:
        projects = _parse(_bounded(register, REGISTER_LIMIT_BYTES))["projects"]
        return projects[folder]["hasTrustDialogAccepted"] is True
    except (OSError, ValueError, KeyError, TypeError):
        return False


def read_flag(text: str, cwd: Path) -> dict[str, Any]:
    """The settings of the flag: JSON, or the name of a file. Raises UsageError."""
    if text.lstrip().startswith("{"):
        try:
            return _parse(text.encode("utf-8", "surrogateescape"))
        except ValueError as error:
            raise UsageError(f"Invalid JSON provided to --settings: {error}") from None
    path = cwd / text
    try:
        return read_object(path)
    except FileNotFoundError:
        raise UsageError(f"Settings file not found: {path}") from None
    except OSError as error:
        raise UsageError(f"Settings file cannot be read: {path}: {cause(error)}") from None
    except ValueError as error:
        raise UsageError(f"Settings file cannot be used: {path}: {error}") from None


def _bounded(path: Path, limit_bytes: int) -> bytes:
    """The bytes of a plain file; a pipe would wait for ever, a huge file would fill the memory."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("not a file")
        with open(fd, "rb", closefd=False) as file:
            data = file.read(limit_bytes + 1)
    finally:
        os.close(fd)
    if len(data) > limit_bytes:
        raise ValueError(f"larger than {limit_bytes // (1024 * 1024)} MB")
    return data


def _parse(data: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def cause(error: Exception) -> str:
    """Why a file cannot be used, in a few words."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
