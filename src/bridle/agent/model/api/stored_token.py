"""The API key or token that `bridle-agent auth login` stores, in a file that only the user can read."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from bridle.errors import UsageError
from bridle.ground import disk

Kind = Literal["key", "oauth", "bearer"]

_FILE = "agent-token.json"
_OAUTH_PREFIX = "sk-ant-oat"


class StoredToken(msgspec.Struct, frozen=True):
    """A stored token; its kind decides which header carries it."""

    kind: Kind
    token: str


def load(folder: Path) -> StoredToken | None:
    """Return the stored token, or None if there is no file."""
    document = disk.read_json(folder / _FILE)
    if document is None:
        return None
    try:
        return msgspec.convert(document, StoredToken)
    except (msgspec.ValidationError, ValueError) as error:
        message = f"{folder / _FILE} does not contain a token: {error}"
        raise UsageError(message, remedy="Run `bridle-agent auth login` again.") from error


def store(folder: Path, token: str, *, is_bearer: bool = False) -> StoredToken:
    """Store a token; without `is_bearer`, its prefix decides whether it is a key or an OAuth token."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("the key or token must be printable ASCII without spaces")
    kind: Kind = "bearer" if is_bearer else "oauth" if token.startswith(_OAUTH_PREFIX) else "key"
    disk.make_private_folder(folder)
    disk.write_json_atomic(folder / _FILE, {"kind": kind, "token": token})
    return StoredToken(kind, token)


def delete(folder: Path) -> bool:
    """Delete the stored token; return whether there was one."""
    path = folder / _FILE
    if not path.exists() and not path.is_symlink():
        return False
    path.unlink()
    return True
