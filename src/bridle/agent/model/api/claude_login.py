"""The login of Claude Code in its credentials file; used only after `bridle-agent auth login --from-claude`.

The token is read from the file for every request and copied nowhere: Claude Code renews it there.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bridle.agent.model.api.stored_token import check_token
from bridle.errors import DiskError, ModelFailure, UsageError
from bridle.ground import clock, disk

_FILE = ".credentials.json"


class _Login(msgspec.Struct, frozen=True, rename="camel"):
    access_token: str
    expires_at: float | None = None
    """In milliseconds since 1970."""


class _CredentialsFile(msgspec.Struct, frozen=True):
    login: _Login = msgspec.field(name="claudeAiOauth")


def credentials_file(config_folder: Path) -> Path:
    """Return the credentials file of Claude Code in its settings folder."""
    return config_folder / _FILE


def read_access_token(path: Path) -> str:
    """Return the token of the login. Raises ModelFailure if it is missing or has expired."""
    try:
        document = disk.read_json(path)
        login = None if document is None else msgspec.convert(document, _CredentialsFile).login
        if login is not None and login.access_token:
            check_token(login.access_token)
    except (DiskError, UsageError, msgspec.ValidationError) as error:
        raise _failure(f"Not logged in · {path} does not contain a login of Claude Code: {error}") from error
    if login is None or not login.access_token:
        raise _failure(
            f"Not logged in · Claude Code has no login in {path}. Run claude and log in there,"
            " or run bridle-agent auth login with a key or a token of `claude setup-token`"
        )
    if login.expires_at is not None and login.expires_at <= clock.now().timestamp() * 1000:
        raise _failure(f"Login expired · Run claude, which renews its login in {path}, or run bridle-agent auth login")
    return login.access_token


def _failure(text: str) -> ModelFailure:
    return ModelFailure(text, error="authentication_failed")
