"""Performs an effect again and again, each time in a fresh copy of a folder, and is killed a little later each time.

Run as a program, so that what is killed is a process of its own: FOLDER KIND ARGUMENTS POINTS. It prints, as JSON, how
many moments there are, and for each chosen one what the effect came to when it was performed again.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridle.loop.effects import CheckArgs, ProtectArgs
from bridle.loop.performers.check import check
from bridle.loop.performers.protect import protect
from bridle.loop.working_copy.run_context import RunContext
from tests.loop.fixtures.repositories import reopen
from tests.workspace.repositories import picture


async def _check(args: dict[str, Any], context: RunContext) -> dict[str, Any]:
    return (await check(CheckArgs.from_json(args), context)).as_json()


async def _protect(args: dict[str, Any], context: RunContext) -> dict[str, Any]:
    return (await protect(ProtectArgs.from_json(args), context)).as_json()


ACTS = {"check": _check, "protect": _protect}
# Moments at which something in the world has changed, or is about to.
MOMENTS = ("open", "os.", "subprocess.Popen", "shutil.", "fcntl.", "socket.")


def main(folder: Path, kind: str, args: dict[str, Any], points: int) -> None:
    """Try as many moments as are wanted, spread over all of them."""
    whole = _story(folder, kind, args, at=0)
    moments = int(whole["moments"])
    chosen = sorted({1 + n * (moments - 1) // max(1, points - 1) for n in range(points)})
    killed = {n: _story(folder, kind, args, at=n) for n in chosen}
    sys.stdout.write(json.dumps({"moments": moments, "whole": whole, "killed": killed}))


def _story(folder: Path, kind: str, args: dict[str, Any], *, at: int) -> dict[str, Any]:
    """Perform it in a copy, killed at that moment (0: never), and once more to its end."""
    copy = folder.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy, symlinks=True)
    note = folder.parent / "told.json"
    _in_child(lambda: _perform(copy, kind, args, note, at=at))
    moments = json.loads(note.read_text())["moments"] if at == 0 else 0
    _in_child(lambda: _perform(copy, kind, args, note, at=0))
    files = {name: [one[0], one[1].decode("latin-1")] for name, one in picture(copy).items() if not _is_ours(name)}
    left = [one.name for one in (copy / ".git").glob("bridle-*")]
    return {"value": json.loads(note.read_text())["value"], "files": files, "left": left, "moments": moments}


def _perform(folder: Path, kind: str, args: dict[str, Any], note: Path, *, at: int) -> None:
    here = reopen(folder)
    seen = 0

    def watch(event: str, _facts: object) -> None:
        nonlocal seen
        if event.startswith(MOMENTS):
            seen += 1
            if seen == at:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    value = asyncio.run(ACTS[kind](args, here.context))
    note.write_text(json.dumps({"value": value, "moments": seen}))


def _in_child(work: Callable[[], None]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  # the parent sees the exit code, and the words go to its error output
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if status not in (0, signal.SIGKILL):
        raise SystemExit(f"a performer ended with status {status}")


def _is_ours(name: str) -> bool:
    return name.startswith((".ralph/logs", ".a5c"))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4]))
