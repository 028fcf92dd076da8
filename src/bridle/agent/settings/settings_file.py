"""Reads settings files, which may be of any size and content."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from bridle.errors import DiskError, UsageError
from bridle.ground import disk

JsonObject: TypeAlias = dict[str, Any]
"""A settings file as decoded; `load_settings` validates each key."""

# Settings have a few kilobytes; reading a larger file would slow every start.
SETTINGS_LIMIT_BYTES: Final = 4 * 1024 * 1024


def read_object(path: Path) -> JsonObject | None:
    """Return the JSON object in a settings file: {} for an empty file, None for a missing one.

    Raise ValueError with the reason if the file cannot be used.
    """
    try:
        data = disk.read_if_exists(path, SETTINGS_LIMIT_BYTES)
    except DiskError as error:
        raise ValueError(f"it {error.message.removeprefix(f'{path} ')}") from error
    return None if data is None else _parse(data) if data.strip() else {}


def read_flag(text: str, cwd: Path) -> JsonObject:
    """Return the settings of `--settings`: JSON, or the name of a file. Raise UsageError if they are invalid."""
    if text.lstrip().startswith("{"):
        try:
            return _parse(text.encode("utf-8", "surrogateescape"))
        except ValueError as error:
            raise UsageError(f"Invalid JSON provided to --settings: {error}") from None
    path = cwd / text
    try:
        settings = read_object(path)
    except ValueError as error:
        raise UsageError(f"Settings file cannot be used: {path}: {error}") from None
    if settings is None:
        raise UsageError(f"Settings file not found: {path}")
    return settings


def _parse(data: bytes) -> JsonObject:
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value
