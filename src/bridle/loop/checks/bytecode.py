"""Compiled Python files that were written during a run: they are removed before checks, which then run the source.

Python runs a file in `__pycache__` instead of the source if it has the size and mtime of the source in it, or no check
at all. Git ignores these files, so a commit would not contain what the checks have run.
"""

from __future__ import annotations

import os
from contextlib import suppress

from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import files_index

_FOLDER, _ENDING = "__pycache__", ".pyc"
# Of a ULID, whose first ten are the milliseconds.
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# How far the clock of a file system may differ from ours.
_DIFFERENCE_SECONDS = 2.0


def remove_new(context: RunContext) -> None:
    """Remove the compiled files beside the sources that the last look found, if they were written during the run."""
    sources = files_index.names_with_ending(context.git, ".py")
    compiled = files_index.names_with_ending(context.git, _ENDING) if sources else frozenset()
    since = _started(context.run) - _DIFFERENCE_SECONDS
    for folder in sorted({os.path.dirname(name) for name in sources}):
        cache = context.folder / folder / _FOLDER
        try:
            entries = [entry for entry in os.scandir(cache) if entry.name.endswith(_ENDING)]
        except OSError:
            continue  # most folders have no such folder
        for entry in entries:
            if os.path.join(folder, _FOLDER, entry.name) not in compiled:
                with suppress(OSError):
                    if entry.is_symlink() or (entry.is_file() and entry.stat().st_ctime >= since):
                        os.unlink(entry.path)


def _started(run: str) -> float:
    """Return when a run was created, by its id; 0 for an id without a time, so that no file is older."""
    digits = [_DIGITS.find(letter) for letter in run[:10].upper()]
    if len(run) != 26 or -1 in digits:
        return 0.0
    milliseconds = 0
    for digit in digits:
        milliseconds = milliseconds * 32 + digit
    return milliseconds / 1000
