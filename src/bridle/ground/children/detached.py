"""Start a command that outlives us, such as a driver: in a session of its own, its errors in a file."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground import disk
from bridle.ground.children.spawn import SHORTAGE_REMEDY, SHORTAGES


class Detached:
    """A started command; it is not ended with us."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def wait(self, limit_seconds: float) -> int | None:
        """Wait for its end; return its exit code, or None where it still runs."""
        try:
            return self._process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            # Reaped whenever it ends: a server would collect zombies otherwise.
            threading.Thread(target=self._process.wait, name="reap a detached command", daemon=True).start()
            return None


def start_detached(argv: tuple[str, ...], *, cwd: Path, environment: Mapping[str, str], errors: Path) -> Detached:
    """Start a command with no input and no output; its standard error replaces a file. Raise an Error if that fails."""
    disk.make_private_folder(errors.parent)
    errors.unlink(missing_ok=True)
    descriptor = disk.create_exclusive(errors)
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=descriptor,
            start_new_session=True,
        )
    except OSError as error:
        raise ProcessError(
            f"{argv[0]} could not be started in {cwd}: {error.strerror or error}",
            remedy=SHORTAGE_REMEDY if error.errno in SHORTAGES else "Check that the program and the folder exist.",
            payload=error.errno,
        ) from error
    finally:
        os.close(descriptor)
    return Detached(process)
