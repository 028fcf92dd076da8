"""What a user does to a run from a view: each action is a `bridle` command in a process of its own.

The command decides, journals and refuses, as it does on the command line; a view never writes to a run.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.ground import disk
from bridle.ground.children.detached import start_detached
from bridle.ground.home import bridle_home
from bridle.views.run_data.commands import Command
from bridle.views.run_data.log_list import mtime_of

# Longer than `bridle stop` waits for an agent to end; the others take a second.
LIMIT_SECONDS = 45.0
# A driver that is refused ends within this time; one that still runs then has begun.
DETACHED_SECONDS = 3.0
OUTPUT_BYTES = 1024 * 1024
# The newest; a driver that runs longer than all of these actions keeps writing to its own.
OUTPUTS_KEPT = 200
OUTPUT_FOLDER = "view-actions"
_MESSAGE_CHARACTERS = 2000
# `-P`: the current folder, which a repository fills, is on no path of imports.
PROGRAM = (sys.executable, "-P", "-c", "from bridle.cli.main import main; main()")
DONE = "done"
# Exit codes of a run that was driven to its end or to a question: the action has done what it should.
_DRIVEN = (0, 1, 4)


class Performed(Struct, frozen=True, kw_only=True):
    """How an action ended."""

    ok: bool
    command: tuple[str, ...]
    """What the user would type, as words."""
    message: str = ""
    error: str = ""
    """The code of the error, or an empty text."""
    remedy: str = ""
    exit_code: int | None = None
    """None while the command still runs, by itself."""

    @property
    def is_running(self) -> bool:
        """Whether the command still runs."""
        return self.exit_code is None


async def perform(command: Command, *, name: str, cwd: Path, environment: Mapping[str, str]) -> Performed:
    """Start the command of an action and wait for its end; one that drives a run is left running.

    The name of its file with errors begins with `name`; of a command that has succeeded there is none. Raises an Error
    where it cannot be started.
    """
    errors = _new_file(bridle_home(environment) / OUTPUT_FOLDER, f"{name}-{command.arguments[0]}")
    started = start_detached((*PROGRAM, *command.arguments), cwd=cwd, environment=environment, errors=errors)
    exit_code = await asyncio.to_thread(started.wait, DETACHED_SECONDS if command.is_detached else LIMIT_SECONDS)
    shown = ("bridle", *command.arguments)
    if exit_code is None:
        return Performed(ok=True, command=shown, message="started")
    printed = (disk.read_part(errors, OUTPUT_BYTES, from_end=True) or b"").decode("utf-8", "replace")
    fields = _error_fields(printed)
    if fields is None and exit_code in (_DRIVEN if command.is_detached else (0,)):
        errors.unlink(missing_ok=True)
        return Performed(ok=True, command=shown, message=_last_line(printed) or DONE, exit_code=exit_code)
    return _failed(shown, fields or {}, printed, exit_code)


def _new_file(folder: Path, name: str) -> Path:
    """Return the path of a new file, one for each action; the oldest beyond those that are kept are removed."""
    found = sorted(folder.glob("*.log"), key=mtime_of)
    for path in found[: max(0, len(found) - OUTPUTS_KEPT + 1)]:
        path.unlink(missing_ok=True)
    return folder / f"{name}-{secrets.token_hex(4)}.log"


def _failed(command: tuple[str, ...], fields: dict[str, Any], printed: str, exit_code: int) -> Performed:
    message = str(fields.get("message") or _last_line(printed) or "the command failed")
    return Performed(
        ok=False,
        command=command,
        error=str(fields.get("error") or "failed"),
        message=message[:_MESSAGE_CHARACTERS],
        remedy=str(fields.get("remedy") or ""),
        exit_code=exit_code,
    )


def _error_fields(printed: str) -> dict[str, Any] | None:
    """Return the error that a command with --json has printed last, or None."""
    last = printed.rstrip().rpartition("\n")[2]
    try:
        document = json.loads(last) if last.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and {"error", "message"} <= document.keys() else None


def _last_line(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.strip()]
    return lines[-1].removeprefix("bridle: ")[:_MESSAGE_CHARACTERS] if lines else ""
