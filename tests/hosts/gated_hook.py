"""A Stop hook that stops before each change to the disk and says where it is, so that another process can kill it.

`python -m tests.hosts.gated_hook FOLDER` answers the Stop hook of the session `s`; it prints one line on standard error
before each change and waits for one on standard input.
"""

from __future__ import annotations

import json
import sys

from bridle.hosts.hooks import entry_point
from tests.journal.recorder import Change, watch


def stop(change: Change) -> None:
    """Say what comes next and wait to be let through."""
    sys.stderr.write(f"{change}\n")
    sys.stderr.flush()
    sys.stdin.readline()


if __name__ == "__main__":
    payload = json.dumps({"session_id": "s", "cwd": sys.argv[1]}).encode()
    with watch(stop):
        entry_point.main(["--hook-type", "stop"], payload)
