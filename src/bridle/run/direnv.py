"""The repository's own environment, through direnv: only where it is installed and the user has allowed it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.ground.capture import capture

# An .envrc may build a tool chain the first time; one that takes longer than this would hold up every run.
DIRENV_SECONDS = 60.0


async def workspace_variables(cwd: Path, environment: Mapping[str, str], say: Callable[[str], None]) -> dict[str, str]:
    """The variables that direnv sets for a folder; those it unsets come back empty.

    Nothing where there is no .envrc, no direnv, or no leave from the user; the last is said.
    """
    if not any((folder / ".envrc").is_file() for folder in (cwd, *cwd.parents)):
        return {}
    program = shutil.which("direnv", path=environment.get("PATH"))
    if program is None:
        return {}
    done = await capture((program, "export", "json"), cwd=cwd, environment=environment, limit_seconds=DIRENV_SECONDS)
    if done.exit_code != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        say(f"direnv: {said[-1] if said else 'failed'}; going on without the repository's environment")
        return {}
    try:
        changes = json.loads(done.stdout or b"{}")
    except ValueError:
        say("direnv: its answer is not JSON; going on without the repository's environment")
        return {}
    if not isinstance(changes, dict):
        return {}
    return {name: value if isinstance(value, str) else "" for name, value in changes.items()}
