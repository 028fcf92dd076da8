"""The environment of a repository from direnv, where it is installed and the user has allowed the .envrc."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from bridle.errors import ProcessError
from bridle.ground import program_path
from bridle.ground.children.capture import CapturedOutput, capture
from bridle.run.isolation.sandbox_rules import ChosenSandbox
from bridle.run.isolation.sandbox_session import enter_sandbox, variables_in

# An .envrc may build a tool chain the first time.
DIRENV_SECONDS = 60.0
_NO_SANDBOX = ChosenSandbox()


async def workspace_variables(
    cwd: Path, environment: Mapping[str, str], say: Callable[[str], None], sandbox: ChosenSandbox = _NO_SANDBOX
) -> dict[str, str | None]:
    """Return the variables that direnv sets for a folder; None for those it unsets.

    Empty without an .envrc or direnv. Where direnv fails, as for an .envrc that is not allowed, report it and continue.
    It runs in the sandbox of agents: the user has allowed the .envrc, but not what that sources, such as
    `.venv/bin/activate`, which an agent can edit.
    """
    if not any((folder / ".envrc").is_file() for folder in (cwd, *cwd.parents)):
        return {}
    program = program_path.find_outside("direnv", environment, cwd)
    if program is None:
        return {}
    try:
        return _parse(await _run((program, "export", "json"), cwd, environment, sandbox))
    except ProcessError as error:
        say(f"direnv: {error.message}. The run continues without the variables of .envrc.")
        return {}


async def _run(
    argv: tuple[str, ...], cwd: Path, environment: Mapping[str, str], sandbox: ChosenSandbox
) -> CapturedOutput:
    rules = replace(sandbox.rules, visible=(*sandbox.rules.visible, *_own_folders(environment)))
    with enter_sandbox(
        replace(sandbox, rules=rules),
        argv,
        cwd=cwd,
        environment=variables_in(sandbox, environment, agent=None),
        agent=None,
    ) as sandboxed:
        captured = await capture(
            sandboxed.argv,
            cwd=cwd,
            environment=sandboxed.environment,
            limit_seconds=DIRENV_SECONDS,
            sandbox=sandboxed.sandbox,
        )
        sandboxed.check_started(captured.exit_code, captured.stderr)
    return captured


def _own_folders(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield where direnv has its settings, and notes what the user has allowed."""
    yield f"{environment.get('XDG_CONFIG_HOME') or '~/.config'}/direnv"
    yield f"{environment.get('XDG_DATA_HOME') or '~/.local/share'}/direnv"


def _parse(captured: CapturedOutput) -> dict[str, str | None]:
    if captured.exit_code != 0:
        lines = captured.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ProcessError(lines[-1] if lines else "it failed" if captured.exit_code else "it took too long")
    try:
        changes = json.loads(captured.stdout or b"{}")
    except (ValueError, RecursionError) as error:
        raise ProcessError("its output is not JSON") from error
    if not isinstance(changes, dict) or not all(_is_variable(*change) for change in changes.items()):
        raise ProcessError("its output is not an object of variables")
    return changes


def _is_variable(name: str, value: object) -> bool:
    is_name = bool(name) and "=" not in name and "\0" not in name
    return is_name and (value is None or (isinstance(value, str) and "\0" not in value))
