"""Entries about commands that steer a run and were refused, because an agent or a check called them."""

from __future__ import annotations

from pathlib import Path

from bridle.errors import Error
from bridle.ground.light.abc_names import Iterable
from bridle.journal.format.entries import COMMAND_REFUSED
from bridle.journal.stores.file_store import FileStore

# The driver writes to its journal for moments only; an attempt need not wait longer to be recorded.
WAIT_SECONDS = 2.0


def record(run: Path, commands: Iterable[str]) -> bool:
    """Record refused commands in the journal of a run; return whether that was possible."""
    try:
        with FileStore(run).write("refused", wait_seconds=WAIT_SECONDS) as writer:
            for command in commands:
                writer.append(COMMAND_REFUSED, {"command": command})
    except (Error, OSError):
        return False
    return True
