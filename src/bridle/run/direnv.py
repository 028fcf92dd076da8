"""The repository's own environment, through direnv: only where it is installed and the user has allowed it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground.children.capture import Captured, capture

# An .envrc may build a tool chain the first time; one that takes longer than this would hold up every run.
DIRENV_SECONDS = 60.0


async def workspace_variables(
    cwd: Path, environment: Mapping[str, str], say: Callable[[str], None]
) -> dict[str, str | None]:
    """The variables that direnv sets for a folder; None for those it unsets.

    Nothing where there is no .envrc, no direnv, or no leave from the user; the last is said.
    """
    if not any((folder / ".envrc").is_file() for folder in (cwd, *cwd.parents)):
        return {}
    program = shutil.which("direnv", path=environment.get("PATH"))
    if program is None:
        return {}
    try:
        done = await capture(
            (program, "export", "json"), cwd=cwd, environment=environment, limit_seconds=DIRENV_SECONDS
        )
        return _changes(done)
    except ProcessError as refusal:
        say(f"direnv: {refusal.message}; going on without the repository's environment")
        return {}


def _changes(done: Captured) -> dict[str, str | None]:
    if done.exit_code != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ProcessError(said[-1] if said else "it failed" if done.exit_code else "it took too long")
    try:
        changes = json.loads(done.stdout or b"{}")
    except (ValueError, RecursionError) as error:
        raise ProcessError("its answer is not JSON") from error
    if not isinstance(changes, dict) or not all(_is_variable(*change) for change in changes.items()):
        raise ProcessError("its answer is not a list of variables")
    return changes


def _is_variable(name: str, value: object) -> bool:
    is_name = bool(name) and "=" not in name and "\0" not in name
    return is_name and (value is None or (isinstance(value, str) and "\0" not in value))
