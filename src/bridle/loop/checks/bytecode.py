"""Compiled Python files that were written during a run: they are removed before checks, which then run the source.

Python runs a file in `__pycache__` instead of the source if it has the size and mtime of the source in it, or no check
at all. Git ignores these files, so a commit would not contain what the checks have run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from contextlib import suppress

from bridle.ground.files.real_path import folder_of_descriptor, open_folder
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import files_index

_FOLDER, _ENDING = "__pycache__", ".pyc"
# Of a ULID, whose first ten are the milliseconds.
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
# How far the clock of a file system may differ from ours.
_DIFFERENCE_SECONDS = 2.0


def remove_new(context: RunContext) -> None:
    """Remove the compiled files beside the sources that the last look found, if they were written during the run.

    No link is followed. One in the place of a folder of compiled files is removed itself.
    """
    sources = files_index.names_with_ending(context.git, ".py")
    known = files_index.names_with_ending(context.git, _ENDING) if sources else frozenset()
    since = _started(context.run) - _DIFFERENCE_SECONDS
    top = os.path.realpath(context.folder)
    for folder in sorted({os.path.dirname(name) for name in sources}):
        if os.path.lexists(os.path.join(top, folder, _FOLDER)):  # most folders have none
            with suppress(OSError):
                _remove_in(top, folder, known, since)


def _remove_in(top: str, folder: str, known: Collection[str], since: float) -> None:
    """Remove new compiled files of one folder of sources. Raises OSError if a link leads to it."""
    parent = open_folder(os.path.join(top, folder))
    try:
        if stat.S_ISLNK(os.stat(_FOLDER, dir_fd=parent, follow_symlinks=False).st_mode):
            os.unlink(_FOLDER, dir_fd=parent)
            return
    finally:
        os.close(parent)
    path = os.path.join(top, folder, _FOLDER)
    cache = open_folder(path)
    try:
        for entry in list(os.scandir(folder_of_descriptor(cache, path))):
            if entry.name.endswith(_ENDING) and os.path.join(folder, _FOLDER, entry.name) not in known:
                with suppress(OSError):
                    if entry.is_symlink() or (entry.is_file() and entry.stat().st_ctime >= since):
                        os.unlink(entry.name, dir_fd=cache)
    finally:
        os.close(cache)


def _started(run: str) -> float:
    """Return when a run was created, by its id; 0 for an id without a time, so that no file is older."""
    digits = [_DIGITS.find(letter) for letter in run[:10].upper()]
    if len(run) != 26 or -1 in digits:
        return 0.0
    milliseconds = 0
    for digit in digits:
        milliseconds = milliseconds * 32 + digit
    return milliseconds / 1000
