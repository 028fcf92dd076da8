"""What a request shows to the endpoint: a key, a token, what a helper prints, or what `bridle-agent auth` keeps.

In this order, as measured; an empty variable counts as not set:
ANTHROPIC_API_KEY, the setting `apiKeyHelper`, ANTHROPIC_AUTH_TOKEN, CLAUDE_CODE_OAUTH_TOKEN, the kept token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from bridle.agent.model.api import login
from bridle.agent.model.api.error_texts import not_logged_in
from bridle.errors import ModelFailure

OAUTH_BETA = "oauth-2025-04-20"
NO_SOURCE = "none"
"""What `apiKeySource` says when there is no key, be there a token or not."""

# A helper asks a vault or a cloud's metadata server; one that takes longer waits for a person who is not there.
HELPER_SECONDS = 60.0
# How long a key that a helper printed is used before it is asked again; keys of vaults live for an hour or more.
HELPER_TTL_SECONDS = 300.0


class Credential(Struct, frozen=True):
    """What one request carries."""

    headers: tuple[tuple[str, str], ...]
    betas: tuple[str, ...] = ()


class Keys(Protocol):
    """Where credentials come from."""

    @property
    def source(self) -> str:
        """What `init` calls it (`apiKeySource`)."""

    @property
    def has_key(self) -> bool:
        """Whether it is a key and not a token; the words of a refusal depend on it."""

    async def current(self) -> Credential:
        """What to show now; ModelFailure if it cannot be had."""

    async def refuse(self) -> None:
        """The endpoint did not accept it."""


def find(
    environment: Mapping[str, str], *, home: Path, helper: str | None = None, cwd: Path | None = None
) -> Keys | None:
    """Find what to show; None if there is nothing. `home` is where `bridle-agent auth` keeps its token."""
    token = _set("ANTHROPIC_AUTH_TOKEN", environment)
    if key := _set("ANTHROPIC_API_KEY", environment):
        return Fixed("ANTHROPIC_API_KEY", Credential((*_key(key), *(_bearer(token) if token else ()))), has_key=True)
    if helper:
        return Helper(helper, cwd or Path.cwd(), environment)
    if token:
        return Fixed(NO_SOURCE, Credential(_bearer(token)), has_key=False)
    if oauth := _set("CLAUDE_CODE_OAUTH_TOKEN", environment):
        return Fixed(NO_SOURCE, Credential(_bearer(oauth), (OAUTH_BETA,)), has_key=False)
    kept = login.kept(home)
    return None if kept is None else _of_login(kept)


class Fixed(Struct, frozen=True):
    """A credential that stays the same."""

    source: str
    credential: Credential
    has_key: bool

    async def current(self) -> Credential:
        """What to show now."""
        return self.credential

    async def refuse(self) -> None:
        """There is no other one to show."""


class Nobody:
    """There is nothing to show, so nothing is asked."""

    source = NO_SOURCE
    has_key = False

    async def current(self) -> Credential:
        """Say that nobody is logged in."""
        raise not_logged_in()

    async def refuse(self) -> None:
        """There is no other one to show."""


class Helper:
    """A command that prints a key, as the setting `apiKeyHelper` says; it is a line for the shell."""

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
        self._one_at_a_time = asyncio.Lock()

    async def current(self) -> Credential:
        """What it printed last, or, when that is too old, what it prints now."""
        async with self._one_at_a_time:
            if self._credential is None or self._now() >= self._until:
                key = await self._run()
                self._credential = Credential((*_key(key), *_bearer(key)))
                self._until = self._now() + self._ttl_seconds()
            return self._credential

    async def refuse(self) -> None:
        """Ask it again next time."""
        self._credential = None

    def _now(self) -> float:
        return self._clock() if self._clock is not None else asyncio.get_running_loop().time()

    def _ttl_seconds(self) -> float:
        text = self._environment.get("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "").strip()
        return int(text) / 1000 if text.isascii() and text.isdigit() else HELPER_TTL_SECONDS

    async def _run(self) -> str:
        from bridle.ground.children.capture import capture  # brings what ends a child and all it has started

        argv = ("/bin/sh", "-c", self._command)
        done = await capture(argv, cwd=self._cwd, environment=self._environment, limit_seconds=self._limit_seconds)
        if done.exit_code is None:
            raise _helper_failure(f"took longer than {self._limit_seconds:g} seconds")
        if done.exit_code != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise _helper_failure(f"exited {done.exit_code}: {said[-500:]}")
        key = done.stdout.decode("utf-8", "replace").strip()
        if not key or any(not letter.isprintable() or not letter.isascii() for letter in key):
            raise _helper_failure("did not print a key on one line" if key else "did not return a value")
        return key


def _helper_failure(reason: str) -> ModelFailure:
    return ModelFailure(f"apiKeyHelper failed: {reason}", error="authentication_failed")


def _of_login(kept: login.Kept) -> Keys:
    match kept.kind:
        case "key":
            return Fixed("/login managed key", Credential(_key(kept.token)), has_key=True)
        case "oauth":
            return Fixed(NO_SOURCE, Credential(_bearer(kept.token), (OAUTH_BETA,)), has_key=False)
        case "bearer":
            return Fixed(NO_SOURCE, Credential(_bearer(kept.token)), has_key=False)


def _set(name: str, environment: Mapping[str, str]) -> str:
    return environment.get(name, "").strip()


def _key(key: str) -> tuple[tuple[str, str], ...]:
    return (("x-api-key", key),)


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)
