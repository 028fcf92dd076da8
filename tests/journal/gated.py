"""A writer that stops before each change to the disk and says where it is, so that another process can kill it there.

`python gated.py DEED RUN` prints one line before each change and waits for one on stdin; it prints `done` at the end.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.journal.deeds import DEEDS
from tests.journal.recorder import Change, watch


def stop(change: Change) -> None:
    """Say what comes next and wait to be let through."""
    sys.stdout.write(f"{change}\n")
    sys.stdout.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    with watch(stop):
        DEEDS[sys.argv[1]](Path(sys.argv[2]))
    sys.stdout.write("done\n")
