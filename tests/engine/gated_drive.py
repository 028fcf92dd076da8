"""A driver that stops before each change to the disk and says where it is, so that another process can kill it there.

`python -m tests.engine.gated_drive RUN` prints one line before each change and waits for one on stdin; `done` at the
end. Entries of the journal are told by their type: `entry TYPE` before an entry is named, `kept TYPE` before its folder
is synced.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from pathlib import Path

from bridle.engine.drive.driver import DriveOptions, drive
from bridle.engine.hooks.find_hooks import repository_of
from bridle.engine.hooks.run_hooks import Hooks
from bridle.journal.stores.file_store import FileStore
from tests.journal.recorder import Change, watch


class Gate:
    """Tells each change and waits to be let through; one at a time, whichever thread it comes from."""

    def __init__(self, run: Path) -> None:
        self._journal = str(run / "journal")
        self._types: dict[str, str] = {}
        self._last = ""
        self._turn = threading.Lock()

    def stop(self, change: Change) -> None:
        with self._turn:
            sys.stdout.write(f"{self._line(change)}\n")
            sys.stdout.flush()
            sys.stdin.readline()

    def _line(self, change: Change) -> str:
        if change.deed == "write" and b'"recordedAt"' in change.data[:200]:
            self._types[change.path] = json.loads(change.data)["type"]
        elif change.deed == "rename" and change.target.startswith(self._journal):
            self._last = self._types.pop(change.path)
            return f"entry {self._last}"
        elif change.deed == "sync" and change.path == self._journal:
            return f"kept {self._last}"
        return str(change)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    hooks = Hooks(repository_of(folder), os.environ)
    with watch(Gate(folder).stop):
        asyncio.run(drive(lambda: FileStore(folder), folder, hooks, DriveOptions()))
    sys.stdout.write("done\n")
