"""What `bridle-agent auth login` stores, readable by the user alone: a key, a token, or an agreement."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from bridle.errors import DiskError, UsageError
from bridle.ground import disk

Kind = Literal["key", "oauth", "bearer"]

_FILE = "agent-token.json"
_OAUTH_PREFIX = "sk-ant-oat"
_CLAUDE_LOGIN: Literal["claude-login"] = "claude-login"


class StoredToken(msgspec.Struct, frozen=True):
    """A stored token; its kind decides which header carries it."""

    kind: Kind
    token: str


class ClaudeLogin(msgspec.Struct, frozen=True):
    """The user's agreement to use the login of Claude Code."""

    kind: Literal["claude-login"]
    path: str
    """The credentials file of Claude Code."""


def load(folder: Path) -> StoredToken | ClaudeLogin | None:
    """Return what is stored, or None if there is no file, or a sandbox hides the folder, as it does without a file."""
    try:
        document = disk.read_json(folder / _FILE)
    except DiskError as error:
        if isinstance(error.__cause__, PermissionError) and not os.access(folder, os.X_OK):
            return None
        raise
    if document is None:
        return None
    try:
        if isinstance(document, dict) and document.get("kind") == _CLAUDE_LOGIN:
            return msgspec.convert(document, ClaudeLogin)
        stored = msgspec.convert(document, StoredToken)
        check_token(stored.token)
        return stored
    except (msgspec.ValidationError, UsageError) as error:
        message = f"{folder / _FILE} does not contain a token: {error}"
        raise UsageError(message, remedy="Run `bridle-agent auth login` again.") from error


def store(folder: Path, token: str, *, is_bearer: bool = False) -> StoredToken:
    """Store a token; without `is_bearer`, its prefix decides whether it is a key or an OAuth token."""
    token = token.strip()
    check_token(token)
    kind: Kind = "bearer" if is_bearer else "oauth" if token.startswith(_OAUTH_PREFIX) else "key"
    stored = StoredToken(kind, token)
    _write(folder, stored)
    return stored


def check_token(token: str) -> None:
    """Raise UsageError for a text that cannot be a key or token: no header of a request can carry it."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("the key or token must be printable ASCII without spaces")


def use_claude_login(folder: Path, credentials_file: Path) -> ClaudeLogin:
    """Store that the login of Claude Code in this file is used; its token is not copied."""
    stored = ClaudeLogin(_CLAUDE_LOGIN, str(credentials_file))
    _write(folder, stored)
    return stored


def _write(folder: Path, stored: StoredToken | ClaudeLogin) -> None:
    disk.make_private_folder(folder)
    disk.write_json_atomic(folder / _FILE, msgspec.to_builtins(stored))


def delete(folder: Path) -> bool:
    """Delete what is stored; return whether there was something."""
    path = folder / _FILE
    if not path.exists() and not path.is_symlink():
        return False
    path.unlink()
    return True
