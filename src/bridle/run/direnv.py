"""The environment of a repository from direnv, where it is installed and the user has allowed the .envrc."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground.children.capture import CapturedOutput, capture

# An .envrc may build a tool chain the first time.
DIRENV_SECONDS = 60.0


async def workspace_variables(
    cwd: Path, environment: Mapping[str, str], say: Callable[[str], None]
) -> dict[str, str | None]:
    """Return the variables that direnv sets for a folder; None for those it unsets.

    Empty without an .envrc or direnv. Where direnv fails, as for an .envrc that is not allowed, report it and continue.
    """
    if not any((folder / ".envrc").is_file() for folder in (cwd, *cwd.parents)):
        return {}
    program = shutil.which("direnv", path=environment.get("PATH"))
    if program is None:
        return {}
    try:
        captured = await capture(
            (program, "export", "json"), cwd=cwd, environment=environment, limit_seconds=DIRENV_SECONDS
        )
        return _parse(captured)
    except ProcessError as error:
        say(f"direnv: {error.message}. The run continues without the variables of .envrc.")
        return {}


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
