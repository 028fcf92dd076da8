"""The command `bridle-agent auth`: login, status, logout."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from bridle.agent.model.api import stored_token
from bridle.agent.model.api.stored_token import ClaudeLogin, StoredToken
from bridle.errors import Error
from bridle.ground.home import bridle_home

if TYPE_CHECKING:
    from bridle.agent.model.api.credentials import CredentialSource

# An API key has about a hundred characters; a JSON web token has up to a few thousand.
TOKEN_LIMIT_BYTES = 64 * 1024

# The last four characters of a shorter token would reveal too much of it.
_MIN_CHARACTERS_TO_SHOW_END = 20

_NOT_LOGGED_IN = (
    "not logged in. Set ANTHROPIC_API_KEY, run `bridle-agent auth login`,"
    " or use the login of Claude Code: `bridle-agent auth login --from-claude`."
)

USAGE = """usage: bridle-agent auth login [--bearer]      store a key or token, read from standard input
       bridle-agent auth login --from-claude  use the login of Claude Code, read from its credentials file
       bridle-agent auth status [--json]      show which credential requests use; exit code 1 without a credential
       bridle-agent auth logout               delete what login stored; the login of Claude Code stays
"""


def main(arguments: list[str]) -> int:
    """Run `bridle-agent auth …` and return the exit code."""
    try:
        match arguments:
            case ["login"]:
                return _login(is_bearer=False)
            case ["login", "--bearer"]:
                return _login(is_bearer=True)
            case ["login", "--from-claude"]:
                return _login_from_claude()
            case ["status"]:
                return _status(as_json=False)
            case ["status", "--json"]:
                return _status(as_json=True)
            case ["logout"]:
                return _logout()
            case ["-h" | "--help"] | ["login" | "status" | "logout", "-h" | "--help"]:
                sys.stdout.write(USAGE)
                return 0
    except Error as error:
        sys.stderr.write(f"bridle-agent: {error}\n")
        return 1
    sys.stderr.write(USAGE)
    return 1


def _login(*, is_bearer: bool) -> int:
    _report_login(stored_token.store(bridle_home(os.environ), _read_token(sys.stdin), is_bearer=is_bearer))
    return 0


def _login_from_claude() -> int:
    from bridle.agent.model.api import claude_login

    path = claude_login.credentials_file(_config_folder()).absolute()
    claude_login.read_access_token(path)  # raises Error if there is no login to use
    _report_login(stored_token.use_claude_login(bridle_home(os.environ), path))
    return 0


def _report_login(stored: StoredToken | ClaudeLogin) -> None:
    use = f"requests without a key or token in the environment use {_describe_stored(stored)}"
    sys.stderr.write(f"bridle-agent: {use} until `bridle-agent auth logout`\n")


def _logout() -> int:
    was_stored = stored_token.delete(bridle_home(os.environ))
    message = "deleted what login stored" if was_stored else "nothing is stored"
    sys.stderr.write(f"bridle-agent: {message}\n")
    return 0


def _status(*, as_json: bool) -> int:
    from bridle.agent.model.api import credentials
    from bridle.agent.settings import load_settings

    folder = bridle_home(os.environ)
    helper = load_settings.load_settings(Path.cwd(), _config_folder(), environment=os.environ).api_key_helper
    found, reason = _usable(folder, helper)
    method = _method(os.environ, helper, folder) if found is not None else credentials.NO_SOURCE
    if os.environ.get("OPENAI_BASE_URL") or os.environ.get("BRIDLE_ENDPOINT"):
        found, method, reason = _on_chat_endpoint(found, method, reason)
    if as_json:
        import json

        source = found.source if found is not None else credentials.NO_SOURCE
        document = {"loggedIn": found is not None, "authMethod": method, "apiKeySource": source}
        sys.stdout.write(json.dumps(document | ({"reason": reason} if reason else {})) + "\n")
    else:
        sys.stdout.write(f"requests use {method}\n" if found is not None else f"{reason}\n")
    return 0 if found is not None else 1


def _on_chat_endpoint(
    found: CredentialSource | None, method: str, reason: str
) -> tuple[CredentialSource | None, str, str]:
    """Return the credential, its description and why there is none, for a chat endpoint where one is selected."""
    from bridle.agent.model.chat.reachable import describe_endpoint
    from bridle.agent.model.chat.selection import chat_credentials, selects_chat

    if not selects_chat(os.environ, has_credentials=found is not None):
        return found, method, reason
    is_reachable, text = describe_endpoint(os.environ)
    return (chat_credentials(os.environ), text, "") if is_reachable else (None, method, text)


def _usable(folder: Path, helper: str | None) -> tuple[CredentialSource | None, str]:
    """Return the credential that requests use, or None with the reason why there is none."""
    from bridle.agent.model.api import credentials

    try:
        found = credentials.find(os.environ, home=folder, helper=helper)
        if isinstance(found, credentials.ClaudeLoginCredentials):
            found.token()
    except Error as error:
        return None, str(error)
    return found, "" if found is not None else _NOT_LOGGED_IN


def _method(environment: Mapping[str, str], helper: str | None, folder: Path) -> str:
    """Describe the credential that `credentials.find` returns."""
    if environment.get("ANTHROPIC_API_KEY", "").strip():
        return "ANTHROPIC_API_KEY"
    if helper:
        return "apiKeyHelper"
    for name in ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        if environment.get(name, "").strip():
            return name
    stored = stored_token.load(folder)
    return "none" if stored is None else _describe_stored(stored)


def _config_folder() -> Path:
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")


def _describe_stored(token: StoredToken | ClaudeLogin) -> str:
    """Describe a stored token by its kind and its last characters, which identify it."""
    if isinstance(token, ClaudeLogin):
        return f"the login of Claude Code in {token.path}"
    kind = {"key": "a stored key", "oauth": "a stored login token", "bearer": "a stored bearer token"}[token.kind]
    return f"{kind} (…{token.token[-4:]})" if len(token.token) >= _MIN_CHARACTERS_TO_SHOW_END else kind


def _read_token(stream: TextIO) -> str:
    """Read the token without echo from a terminal, or the first line of a pipe."""
    if stream.isatty():
        from getpass import getpass

        return getpass("Key or token: ", stream=sys.stderr)
    return stream.readline(TOKEN_LIMIT_BYTES)
