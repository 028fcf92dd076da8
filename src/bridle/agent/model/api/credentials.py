"""The credential of a request: an API key, a token, the output of a helper, or the stored token.

The first of these that is set wins, as measured with Claude Code; an empty variable counts as not set:
ANTHROPIC_API_KEY, the setting `apiKeyHelper`, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, what
`bridle-agent auth login` stored: a key, a token, or that the login of Claude Code is used.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from bridle.agent.model.api.error_texts import not_logged_in
from bridle.errors import Error, ModelFailure, UsageError
from bridle.ground import program_path

OAUTH_BETA = "oauth-2025-04-20"
NO_SOURCE = "none"
"""The `apiKeySource` without an API key, whether there is a token or not."""

# A helper queries a vault or a cloud's metadata server; one that takes longer probably waits for user input.
HELPER_SECONDS = 60.0
# How long a key from a helper is cached; keys of vaults live for an hour or more.
HELPER_TTL_SECONDS = 300.0


class Credential(Struct, frozen=True):
    """The headers and betas that authenticate one request."""

    headers: tuple[tuple[str, str], ...]
    betas: tuple[str, ...] = ()


class CredentialSource(Protocol):
    """A source of credentials."""

    @property
    def source(self) -> str:
        """The `apiKeySource` of the `init` event."""

    @property
    def has_key(self) -> bool:
        """Whether it is an API key, not a token; the text of an authentication error depends on it."""

    async def current(self) -> Credential:
        """Return the credential for the next request. Raises ModelFailure without a credential."""

    async def refuse(self) -> None:
        """Handle that the endpoint rejected the credential."""


def find(
    environment: Mapping[str, str], *, home: Path, helper: str | None = None, cwd: Path | None = None
) -> CredentialSource | None:
    """Return the source of credentials, or None. `home` is the folder of the stored token."""
    token = variable("ANTHROPIC_AUTH_TOKEN", environment)
    if key := variable("ANTHROPIC_API_KEY", environment):
        both = Credential((*_key(key), *(_bearer(token) if token else ())))
        return StaticCredentials("ANTHROPIC_API_KEY", both, has_key=True)
    if helper:
        return HelperCredentials(helper, cwd or Path.cwd(), environment)
    if token:
        return StaticCredentials(NO_SOURCE, Credential(_bearer(token)), has_key=False)
    if oauth := variable("CLAUDE_CODE_OAUTH_TOKEN", environment):
        return StaticCredentials(NO_SOURCE, Credential(_bearer(oauth), (OAUTH_BETA,)), has_key=False)
    return _stored(home)


class StaticCredentials(Struct, frozen=True):
    """A credential that does not change."""

    source: str
    credential: Credential
    has_key: bool

    async def current(self) -> Credential:
        return self.credential

    async def refuse(self) -> None:
        """Do nothing: there is no other credential."""


class MissingCredentials:
    """No credential: every request fails before it is sent."""

    source = NO_SOURCE
    has_key = False

    def __init__(self, fault: Error | None = None) -> None:
        """`fault` is why a credential that is there cannot be used."""
        self._fault = fault

    async def current(self) -> Credential:
        """Raise ModelFailure: not logged in."""
        if self._fault is not None:
            text = ". ".join(filter(None, (self._fault.message, self._fault.remedy)))
            raise ModelFailure(text, error="authentication_failed") from self._fault
        raise not_logged_in()

    async def refuse(self) -> None:
        """Do nothing: there is no other credential."""


class ClaudeLoginCredentials(Struct, frozen=True):
    """The login of Claude Code, which the user agreed to use."""

    credentials_file: Path
    source: str = NO_SOURCE
    has_key: bool = False

    async def current(self) -> Credential:
        """Return the token that Claude Code has now. Raises ModelFailure if it has none."""
        return Credential(_bearer(self.token()), (OAUTH_BETA,))

    def token(self) -> str:
        """Read the token from the file. Raises ModelFailure if it holds none, or one that has expired."""
        from bridle.agent.model.api.claude_login import read_access_token  # late: a variable is the common way

        return read_access_token(self.credentials_file)

    async def refuse(self) -> None:
        """Do nothing: the next request reads the file again."""


class HelperCredentials:
    """The shell command of the setting `apiKeyHelper`, which prints a key."""

    source = "apiKeyHelper"
    has_key = True

    def __init__(
        self,
        command: str,
        cwd: Path,
        environment: Mapping[str, str],
        *,
        limit_seconds: float = HELPER_SECONDS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._command = command
        self._cwd = cwd
        self._environment = environment
        self._limit_seconds = limit_seconds
        self._clock = clock
        self._credential: Credential | None = None
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def current(self) -> Credential:
        """Return the cached key; run the command when the key has expired."""
        async with self._lock:
            if self._credential is None or self._now() >= self._until:
                key = await self._run()
                self._credential = Credential((*_key(key), *_bearer(key)))
                self._until = self._now() + self._ttl_seconds()
            return self._credential

    async def refuse(self) -> None:
        """Run the command again for the next request."""
        self._credential = None

    def _now(self) -> float:
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def _ttl_seconds(self) -> float:
        text = self._environment.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "").strip()
        return int(text) / 1000 if text.isascii() and text.isdigit() else HELPER_TTL_SECONDS

    async def _run(self) -> str:
        from bridle.ground.children.capture import capture  # late: loads the child runner

        argv = ("/bin/sh", "-c", self._command)
        outside = program_path.outside_environment(self._environment, self._cwd)
        done = await capture(argv, cwd=self._cwd, environment=outside, limit_seconds=self._limit_seconds)
        if done.exit_code is None:
            raise _helper_failure(f"took longer than {self._limit_seconds:g} seconds")
        if done.exit_code != 0:
            output = done.stderr.decode("utf-8", "replace").strip()
            raise _helper_failure(f"exited {done.exit_code}: {output[-500:]}")
        key = done.stdout.decode("utf-8", "replace").strip()
        if not key or not _fits_header(key):
            raise _helper_failure("did not print a key on one line" if key else "did not return a value")
        return key


def _helper_failure(reason: str) -> ModelFailure:
    return ModelFailure(f"apiKeyHelper failed: {reason}", error="authentication_failed")


def _stored(home: Path) -> CredentialSource | None:
    from bridle.agent.model.api import stored_token  # late: a variable is the common way

    stored = stored_token.load(home)
    if stored is None:
        return None
    if isinstance(stored, stored_token.ClaudeLogin):
        return ClaudeLoginCredentials(Path(stored.path))
    match stored.kind:
        case "key":
            return StaticCredentials("/login managed key", Credential(_key(stored.token)), has_key=True)
        case "oauth":
            return StaticCredentials(NO_SOURCE, Credential(_bearer(stored.token), (OAUTH_BETA,)), has_key=False)
        case "bearer":
            return StaticCredentials(NO_SOURCE, Credential(_bearer(stored.token)), has_key=False)


def variable(name: str, environment: Mapping[str, str]) -> str:
    """Return a variable that is sent in a header; empty if it is not set. Raises UsageError if it cannot be sent."""
    value = environment.get(name, "").strip()
    if not _fits_header(value):
        raise UsageError(f"{name} must be printable ASCII on one line", remedy="Set it again, or unset it.")
    return value


def _fits_header(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _key(key: str) -> tuple[tuple[str, str], ...]:
    return (("x-api-key", key),)


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)
