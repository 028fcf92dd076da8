"""The token that `bridle-agent auth` keeps, and that command: login, status, logout."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TextIO

from msgspec import Struct

from bridle.errors import Error, UsageError
from bridle.ground import disk

Kind = Literal["key", "oauth", "bearer"]

# A token has about a hundred letters; a JSON web token has up to a few thousand.
TOKEN_LIMIT_BYTES = 64 * 1024

_FILE = "agent-token.json"
_OAUTH_PREFIX = "sk-ant-oat"
# Of a shorter one the last four letters would give away too much.
_LONG = 20
_KINDS: tuple[Kind, ...] = ("key", "oauth", "bearer")
USAGE = """usage: bridle-agent auth login [--bearer]   keep a key or token; it is read from standard input
       bridle-agent auth status [--json]    say what requests are made with; exit code 1 if with nothing
       bridle-agent auth logout             forget what is kept
"""


class Kept(Struct, frozen=True):
    """A kept token, and how it is shown to the endpoint."""

    kind: Kind
    token: str


def home(environment: Mapping[str, str]) -> Path:
    """Where Bridle keeps what is the user's own."""
    chosen = environment.get("BRIDLE_HOME")
    return Path(chosen) if chosen else Path(environment.get("HOME") or Path.home()) / ".bridle"


def kept(folder: Path) -> Kept | None:
    """The kept token; None if there is none."""
    value = disk.read_json(folder / _FILE)
    if value is None:
        return None
    if isinstance(value, dict) and value.get("kind") in _KINDS and isinstance(value.get("token"), str):
        return Kept(value["kind"], value["token"])
    raise UsageError(f"{folder / _FILE} holds no token", remedy="Run `bridle-agent auth login` again.")


def keep(folder: Path, token: str, *, is_bearer: bool = False) -> Kept:
    """Keep a token for this user alone; its beginning says what it is unless it is called a bearer token."""
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError("that is no key or token: it must be one word of plain letters, digits and signs")
    kind: Kind = "bearer" if is_bearer else "oauth" if token.startswith(_OAUTH_PREFIX) else "key"
    disk.make_private_folder(folder)
    disk.write_json_atomic(folder / _FILE, {"kind": kind, "token": token})
    return Kept(kind, token)


def forget(folder: Path) -> bool:
    """Forget the kept token; tell whether there was one."""
    path = folder / _FILE
    if not path.exists() and not path.is_symlink():
        return False
    path.unlink()
    return True


def auth_main(arguments: list[str]) -> int:
    """The command `bridle-agent auth …`; gives the exit code."""
    try:
        match arguments:
            case ["login"]:
                return _login(is_bearer=False)
            case ["login", "--bearer"]:
                return _login(is_bearer=True)
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
    made = keep(home(os.environ), _asked(sys.stdin), is_bearer=is_bearer)
    sys.stderr.write(f"bridle-agent: kept {_described(made)}\n")
    return 0


def _logout() -> int:
    had = forget(home(os.environ))
    sys.stderr.write("bridle-agent: forgotten\n" if had else "bridle-agent: there was nothing to forget\n")
    return 0


def _status(*, as_json: bool) -> int:
    from bridle.agent.model.api import credentials
    from bridle.agent.settings import load_settings

    folder = home(os.environ)
    config = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    helper = load_settings.load(Path.cwd(), config, environment=os.environ).api_key_helper
    keys = credentials.find(os.environ, home=folder, helper=helper)
    method = _method(os.environ, helper, folder)
    if as_json:
        import json

        source = keys.source if keys is not None else credentials.NO_SOURCE
        document = {"loggedIn": keys is not None, "authMethod": method, "apiKeySource": source}
        sys.stdout.write(json.dumps(document) + "\n")
    else:
        remedy = "Set ANTHROPIC_API_KEY, or run `bridle-agent auth login`."
        sys.stdout.write(f"requests are made with {method}\n" if keys is not None else f"not logged in. {remedy}\n")
    return 0 if keys is not None else 1


def _method(environment: Mapping[str, str], helper: str | None, folder: Path) -> str:
    """What `find` found, in a word or two."""
    if environment.get("ANTHROPIC_API_KEY", "").strip():
        return "ANTHROPIC_API_KEY"
    if helper:
        return "apiKeyHelper"
    for name in ("ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"):
        if environment.get(name, "").strip():
            return name
    found = kept(folder)
    return "none" if found is None else _described(found)


def _described(found: Kept) -> str:
    """A kept token for people: its kind and its last letters, which tell two of them apart."""
    words = {"key": "a kept key", "oauth": "a kept login token", "bearer": "a kept bearer token"}
    return f"{words[found.kind]} (…{found.token[-4:]})" if len(found.token) >= _LONG else words[found.kind]


def _asked(stream: TextIO) -> str:
    """The token: typed without being shown, or the first line that is piped in."""
    if stream.isatty():
        from getpass import getpass

        return getpass("Key or token: ", stream=sys.stderr)
    return stream.readline(TOKEN_LIMIT_BYTES)
