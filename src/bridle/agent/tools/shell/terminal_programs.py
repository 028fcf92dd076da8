"""Ends programs of a command that wait for keys of a terminal, which no command has.

At the end of an empty input some of them (vi) read from their output instead. Where that is a pipe, they wait forever.
"""

from __future__ import annotations

import contextlib
import os
import signal

from bridle.ground.descendants.child_pids import descendants

# An editor that starts without a terminal shows a warning for two seconds before it reads.
FIRST_CHECK_SECONDS = 1.0
# The checks of a long command must cost nothing.
LAST_CHECK_SECONDS = 8.0
# The access mode in the flags of an open file.
_ACCESS = 0o3


def hang_up(root: int) -> None:
    """Send SIGHUP, as a closing terminal does, to `root` and all processes below it that can never read their input."""
    for pid in (root, *descendants(root)):
        if _input_is_output(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGHUP)


def _input_is_output(pid: int) -> bool:
    """Return whether the standard input of a process is a pipe that it can only write to."""
    try:
        if not os.readlink(f"/proc/{pid}/fd/0").startswith("pipe:"):
            return False
        with open(f"/proc/{pid}/fdinfo/0", encoding="ascii") as file:
            flags = next((line.split()[1] for line in file if line.startswith("flags:")), "0")
    except OSError:
        return False
    return int(flags, 8) & _ACCESS == os.O_WRONLY
