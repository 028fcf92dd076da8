"""The environment file of SessionStart hooks: what they export there reaches later commands."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground.children.capture import capture

VARIABLE = "CLAUDE_ENV_FILE"
# The file assigns variables; a file that starts a program which hangs must not hang the session.
_LIMIT_SECONDS = 10.0


async def exported_by(
    run: Callable[[dict[str, str]], Awaitable[None]], environment: Mapping[str, str]
) -> dict[str, str]:
    """Run hooks with an environment file of their own; return the variables that it sets or changes."""
    with tempfile.TemporaryDirectory(prefix="bridle-agent-") as folder:
        path = Path(folder, "session-env.sh")
        path.touch(mode=0o600)
        await run({VARIABLE: str(path)})
        if path.is_symlink() or not path.is_file() or not path.stat().st_size:
            return {}
        return await _sourced(path, environment)


async def _sourced(path: Path, environment: Mapping[str, str]) -> dict[str, str]:
    script = 'set -a; . "$0" >/dev/null 2>&1; set +a; exec env -0'
    try:
        done = await capture(
            (environment.get("SHELL") or "/bin/bash", "-c", script, str(path)),
            cwd=path.parent,
            environment=environment,
            limit_seconds=_LIMIT_SECONDS,
        )
    except ProcessError:
        return {}
    found = (entry.partition("=") for entry in os.fsdecode(done.stdout).split("\0") if "=" in entry)
    kept = ("PWD", "OLDPWD", "SHLVL", "_")
    return {name: value for name, _, value in found if name not in kept and environment.get(name) != value}
