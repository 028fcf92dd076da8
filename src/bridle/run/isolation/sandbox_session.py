"""One program in a sandbox: the options for its start, and whether it has run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground.children.spawn import Sandbox
from bridle.run.isolation import bubblewrap
from bridle.run.isolation.description import Isolation

# How bwrap reports that the program itself has run: without it, an exit code is one of bwrap.
_HAS_RUN = b'"exit-code"'

_STATUS_LIMIT_BYTES = 64 * 1024


@contextlib.contextmanager
def open_sandbox(program: str, isolation: Isolation, *, cwd: Path) -> Iterator[Sandbox]:
    """Open a sandbox for one program; call `check_started` when it has ended."""
    status = os.memfd_create("sandbox status")
    try:
        options = bubblewrap.options(isolation, is_root=os.geteuid() == 0, cwd=cwd)
        yield Sandbox(program, tuple(options), status)
    finally:
        os.close(status)


def check_started(sandbox: Sandbox, exit_code: int | None, stderr: bytes) -> None:
    """Raise ProcessError where bwrap itself has failed, which looks like a failed test."""
    report = os.pread(sandbox.status, _STATUS_LIMIT_BYTES, 0)
    if exit_code is not None and exit_code > 0 and _HAS_RUN not in report:
        reason = stderr.decode("utf-8", "replace").strip()
        raise ProcessError(
            f"the sandbox could not be set up: {reason}",
            remedy="Check that bwrap works on this machine, and that the folder exists.",
        )
