"""Native hooks: scripts that are told what happens in a run.

For each type there are up to three folders, searched in this order: the repository's, the user's, the plugin's. Every
`*.sh` in them runs, sorted by name, one after the other, with the payload on standard input. A hook that fails or takes
too long is noted, and the next one runs.

A repository's hooks are somebody's code: they run only once the user has trusted the repository.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bridle.engine.hooks import trust
from bridle.engine.hooks.find_hooks import ON_BREAKPOINT, REPOSITORY, Script, find_scripts
from bridle.errors import ProcessError
from bridle.ground import clock
from bridle.ground.home import bridle_home

LIMIT_VARIABLE = "BABYSITTER_HOOK_TIMEOUT"

# A hook tells somebody, or looks something up. The format's own default.
LIMIT_SECONDS = 30.0
# A longer payload is on standard input only: the kernel refuses a variable of 128 KiB, and with it the program.
VARIABLE_LIMIT_BYTES = 100 * 1024
# What is kept of a hook's output; it may become part of the journal.
OUTPUT_LIMIT_BYTES = 64 * 1024


class Ran(NamedTuple):
    """How one hook ended."""

    script: Script
    exit_code: int | None
    """None when it could not be started or its time was over."""
    fault: str | None = None
    output: str = ""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0


class Fired(NamedTuple):
    """What became of all hooks of one type."""

    hook_type: str
    ran: tuple[Ran, ...] = ()
    untrusted: Path | None = None
    """The repository whose hooks did not run because nobody trusted it."""
    is_off: bool = False

    @property
    def status(self) -> str:
        """`executed`, `error`, `no-hooks-configured`, `skipped`, in the format's words; or `untrusted`."""
        if self.is_off:
            return "skipped"
        if self.ran:
            return "executed" if all(one.succeeded for one in self.ran) else "error"
        return "no-hooks-configured" if self.untrusted is None else "untrusted"

    @property
    def output(self) -> Any:
        """What the last hook that printed JSON printed."""
        for one in reversed(self.ran):
            try:
                return json.loads(one.output)
            except ValueError:
                continue
        return None

    @property
    def faults(self) -> list[str]:
        """What went wrong, in words."""
        return [
            f"hook {one.script.path}: {one.fault or f'ended with exit code {one.exit_code}'}"
            for one in self.ran
            if not one.succeeded
        ]

    def as_json(self) -> dict[str, Any]:
        """As `ctx.hook` returns it."""
        hooks = [
            {"name": one.script.path.name, "location": one.script.where, "exitCode": one.exit_code}
            | ({"error": one.fault} if one.fault else {})
            for one in self.ran
        ]
        return {"hookType": self.hook_type, "status": self.status, "hooks": hooks, "output": self.output}


class Hooks:
    """The hooks of one repository, its user and the plugin."""

    __slots__ = ("enabled", "environment", "plugin_root", "repository")

    def __init__(
        self,
        repository: Path,
        environment: Mapping[str, str],
        plugin_root: Path | None = None,
        enabled: bool = True,  # noqa: FBT001, FBT002  # one more place to look, or none at all
    ) -> None:
        self.repository = repository
        self.environment = environment
        self.plugin_root = plugin_root
        self.enabled = enabled

    def scripts(self, hook_type: str) -> list[Script]:
        """Every hook of the type, in order; trusted or not."""
        return find_scripts(hook_type, self.repository, self.environment, self.plugin_root)

    async def fire(
        self,
        hook_type: str,
        payload: Mapping[str, Any],
        *,
        limit_seconds: float | None = None,
        cwd: Path | None = None,
    ) -> Fired:
        """Run them all, one after the other, in the repository's folder or in `cwd`; `limit_seconds` is for each."""
        if not self.enabled:
            return Fired(hook_type, is_off=True)
        found = self.scripts(hook_type)
        if not found:
            return Fired(hook_type)
        allowed = [script for script in found if script.where != REPOSITORY]
        untrusted = None
        if len(allowed) < len(found):
            if trust.is_trusted(self.repository, bridle_home(self.environment)):
                allowed = found
            else:
                untrusted = self.repository
        text = json.dumps({**payload, "hookType": hook_type, "timestamp": clock.iso(clock.now())}, ensure_ascii=False)
        environment = self._environment_for(hook_type, text)
        limit = limit_seconds or self._limit_seconds()
        ran = [await _run(script, text, cwd or self.repository, environment, limit) for script in allowed]
        return Fired(hook_type, tuple(ran), untrusted)

    def _environment_for(self, hook_type: str, text: str) -> dict[str, str]:
        given = {"HOOK_TYPE": hook_type}
        if len(text.encode("utf-8", "surrogateescape")) <= VARIABLE_LIMIT_BYTES:
            given["HOOK_PAYLOAD"] = text
            if hook_type == ON_BREAKPOINT:
                given["BREAKPOINT_PAYLOAD"] = text
        return {**self.environment, **given}

    def _limit_seconds(self) -> float:
        chosen = self.environment.get(LIMIT_VARIABLE, "")
        return int(chosen) / 1000 if chosen.isdigit() and int(chosen) > 0 else LIMIT_SECONDS


async def _run(script: Script, text: str, cwd: Path, environment: Mapping[str, str], limit_seconds: float) -> Ran:
    from bridle.ground.children.capture import (
        capture,  # brings asyncio and subprocess along, which most runs do not need
    )

    given = text.encode("utf-8", "surrogateescape")
    try:
        captured = await capture(
            _argv(script.path), cwd=cwd, environment=environment, limit_seconds=limit_seconds, stdin=given
        )
    except ProcessError as error:
        return Ran(script, None, error.message)
    output = captured.stdout[-OUTPUT_LIMIT_BYTES:].decode("utf-8", "replace").strip()
    fault = f"was ended after {limit_seconds:g} seconds" if captured.exit_code is None else None
    return Ran(script, captured.exit_code, fault, output)


def _argv(path: Path) -> tuple[str, ...]:
    """The script itself where it says who runs it and may be run; else through the shell."""
    try:
        with open(path, "rb") as file:
            has_interpreter = file.read(2) == b"#!"
    except OSError:
        has_interpreter = False
    return (str(path),) if has_interpreter and os.access(path, os.X_OK) else ("bash", str(path))
