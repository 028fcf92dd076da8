"""Native hooks: scripts that run on events of a run.

Each type has up to three folders, in this order: the repository's, the user's, the plugin's. Every `*.sh` in them runs,
sorted by name, one after the other, with the payload on standard input. After a hook that fails or times out, the next
one runs.

A repository's hooks are foreign code: they run only after the user has trusted the repository.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bridle.engine.hooks import find_hooks
from bridle.engine.hooks.find_hooks import ON_BREAKPOINT, REPOSITORY, Script, find_scripts, hooks_owner
from bridle.errors import ProcessError
from bridle.ground import clock, program_path, trust
from bridle.ground.home import bridle_home
from bridle.journal.format import codec
from bridle.journal.format.input_values import Unstorable, parse_input, to_utf8

LIMIT_VARIABLE = "BABYSITTER_HOOK_TIMEOUT"

# The default of the format. A hook sends a notice or runs a query.
LIMIT_SECONDS = 30.0
# A longer payload is on standard input only: the kernel does not start a program with a variable of 128 KiB.
VARIABLE_LIMIT_BYTES = 100 * 1024
# The end of a hook's output that is kept; it may become part of the journal.
OUTPUT_LIMIT_BYTES = 64 * 1024


class HookResult(NamedTuple):
    """The result of one hook."""

    script: Script
    exit_code: int | None
    """None if it could not be started or timed out."""
    error: str | None = None
    output: str = ""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0 and self.error is None

    @property
    def failure(self) -> str:
        """Return why it failed."""
        return self.error or f"exit code {self.exit_code}"


class HookResults(NamedTuple):
    """The results of all hooks of one type."""

    hook_type: str
    results: tuple[HookResult, ...] = ()
    untrusted: Path | None = None
    """The folder whose hooks did not run because the user has not trusted it."""
    is_disabled: bool = False

    @property
    def status(self) -> str:
        """Return the status by the format: `executed`, `error`, `no-hooks-configured`, `skipped`; or `untrusted`."""
        if self.is_disabled:
            return "skipped"
        if self.results:
            return "executed" if all(result.succeeded for result in self.results) else "error"
        return "no-hooks-configured" if self.untrusted is None else "untrusted"

    @property
    def output(self) -> Any:
        """Return the last JSON that a hook printed: all of its output, else the last line that is JSON."""
        for result in reversed(self.results):
            for text in _possible_json(result.output):
                try:
                    return parse_input(text)
                except codec.BadText:
                    continue
        return None

    @property
    def failures(self) -> tuple[str, ...]:
        """Return a message for each hook that failed."""
        return tuple(f"hook {one.script.path} failed: {one.failure}" for one in self.results if not one.succeeded)

    @property
    def trust_warning(self) -> str | None:
        """Return a message if the repository's hooks did not run for lack of trust."""
        if self.untrusted is None:
            return None
        folder = f"{self.untrusted}/.a5c/hooks"
        return f"the hooks in {folder} did not run: they are not trusted. Read them, then run `bridle doctor --trust`."

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return all messages for the user."""
        return (*([self.trust_warning] if self.trust_warning else ()), *self.failures)

    def as_json(self) -> dict[str, Any]:
        """Return the value of `ctx.hook`."""
        hooks = [
            {"name": result.script.path.name, "location": result.script.where, "exitCode": result.exit_code}
            | ({"error": result.error} if result.error else {})
            for result in self.results
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
        enabled: bool = True,  # noqa: FBT001, FBT002  # passed by keyword in practice
    ) -> None:
        self.repository = repository
        self.environment = environment
        self.plugin_root = plugin_root
        self.enabled = enabled

    def scripts(self, hook_type: str) -> list[Script]:
        """Return every hook of the type in order, trusted or not."""
        return find_scripts(hook_type, self.repository, self.environment, self.plugin_root)

    def has_any(self) -> bool:
        """Return whether there may be hooks of any type."""
        return find_hooks.has_any(self.repository, self.environment, self.plugin_root)

    async def fire(
        self,
        hook_type: str,
        payload: Mapping[str, Any],
        *,
        limit_seconds: float | None = None,
        cwd: Path | None = None,
    ) -> HookResults:
        """Run the hooks of a type in order, in the repository or in `cwd`; `limit_seconds` applies to each."""
        if not self.enabled:
            return HookResults(hook_type, is_disabled=True)
        scripts = self.scripts(hook_type)
        if not scripts:
            return HookResults(hook_type)
        allowed = [script for script in scripts if script.where != REPOSITORY]
        untrusted = None
        if len(allowed) < len(scripts):
            owner = hooks_owner(self.repository)
            if trust.is_trusted(owner, bridle_home(self.environment)):
                allowed = scripts
            else:
                untrusted = owner
        text = json.dumps({**payload, "hookType": hook_type, "timestamp": clock.iso(clock.now())}, ensure_ascii=False)
        text = to_utf8(text).decode("utf-8", "surrogateescape")
        environment = self._environment_for(hook_type, text)
        limit = limit_seconds or self._limit_seconds()
        results = [await _run(script, text, cwd or self.repository, environment, limit) for script in allowed]
        return HookResults(hook_type, tuple(results), untrusted)

    def _environment_for(self, hook_type: str, text: str) -> dict[str, str]:
        variables = {"HOOK_TYPE": hook_type}
        if len(text.encode("utf-8", "surrogateescape")) <= VARIABLE_LIMIT_BYTES:
            variables["HOOK_PAYLOAD"] = text
            if hook_type == ON_BREAKPOINT:
                variables["BREAKPOINT_PAYLOAD"] = text
        return {**program_path.outside_environment(self.environment, self.repository), **variables}

    def _limit_seconds(self) -> float:
        milliseconds = self.environment.get(LIMIT_VARIABLE, "")
        return int(milliseconds) / 1000 if milliseconds.isdigit() and int(milliseconds) > 0 else LIMIT_SECONDS


async def _run(
    script: Script, text: str, cwd: Path, environment: Mapping[str, str], limit_seconds: float
) -> HookResult:
    from bridle.ground.children.capture import (
        capture,  # imports asyncio and subprocess, which most runs do not need
    )

    stdin = text.encode("utf-8", "surrogateescape")
    try:
        captured = await capture(
            _argv(script.path),
            cwd=cwd,
            environment=environment,
            limit_seconds=limit_seconds,
            stdin=stdin,
            acts_for_user=True,
        )
    except ProcessError as error:
        return HookResult(script, None, error.message)
    output = captured.stdout[-OUTPUT_LIMIT_BYTES:].decode("utf-8", "replace").strip()
    timeout = f"timed out after {limit_seconds:g} seconds" if captured.exit_code is None else None
    return HookResult(script, captured.exit_code, timeout or _fault_of(output), output)


def _fault_of(output: str) -> str | None:
    """Return why the JSON that a hook printed cannot be stored."""
    for text in _possible_json(output):
        try:
            parse_input(text)
        except Unstorable as error:
            return f"its output is ignored: {error}"
        except codec.BadText:
            continue  # it is text
        break
    return None


def _possible_json(output: str) -> Iterator[str]:
    """Yield the whole output, then its lines from the last one that look like an object or a list."""
    yield output
    yield from (line for line in reversed(output.splitlines()) if line.strip()[:1] in ("{", "["))


def _argv(path: Path) -> tuple[str, ...]:
    """Return the script itself if it is executable and has an interpreter line, else `bash` with it."""
    try:
        with open(path, "rb") as file:
            has_interpreter = file.read(2) == b"#!"
    except OSError:
        has_interpreter = False
    return (str(path),) if has_interpreter and os.access(path, os.X_OK) else ("bash", str(path))
