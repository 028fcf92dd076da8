"""One walk over a working copy, without git: nested repositories, and files that programs of the user run later."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from bridle.loop.protection.recorded.startup_table import NOT_SEARCHED, existing, may_be_startup

# Folders at the top that git does not enter.
_OWN_FOLDERS = (".a5c", ".ralph")


class Walked(Struct, frozen=True):
    """What was found below a working copy."""

    repositories: tuple[Path, ...]
    """The folders that have a `.git` entry, without the top."""
    startup: tuple[str, ...]
    """The files of `startup_table`, relative to the top."""


def walk(top: Path) -> Walked:
    """Look at every folder once. What cannot be read is left out: git cannot enter it either."""
    skipped = {f"{top}/{name}" for name in _OWN_FOLDERS}
    repositories: list[Path] = []
    candidates: list[tuple[str, str]] = []
    pending = [(str(top), True)]
    while pending:
        folder, is_searched = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name == ".git":
                        if folder != str(top):
                            repositories.append(Path(folder))
                        continue
                    if is_searched and may_be_startup(name):
                        candidates.append((folder, name))
                    if entry.is_dir(follow_symlinks=False) and entry.path not in skipped:
                        pending.append((entry.path, is_searched and name not in NOT_SEARCHED))
        except OSError:
            continue
    start = len(str(top)) + 1
    found = [file for folder, name in sorted(candidates) for file in existing(str(top), folder[start:], name)]
    return Walked(tuple(repositories), tuple(dict.fromkeys(found)))
