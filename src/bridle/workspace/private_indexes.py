"""The files of private indexes: git writes them beside the real one, and a killed process leaves them.

So does one that is killed while it replaces files, see `replace_files`.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from bridle.ground import ids
from bridle.ground.descendants import census
from bridle.workspace.git import Git
from bridle.workspace.git_folder.replace_files import clear_replaced

_PRIVATE_INDEX = re.compile(r"bridle-(\d+)-[0-9a-f]{32}\.index(?:\.lock)?")


def private_index_path(real: Path) -> Path:
    """Return a new path for a private index; its name has our process id."""
    return real.with_name(f"bridle-{os.getpid()}-{ids.new_token()}.index")


def remove_index(path: Path) -> None:
    """Remove a private index and its lock, as far as they exist: an agent may have removed the folder."""
    for name in (path.name, f"{path.name}.lock"):
        with suppress(OSError):
            path.with_name(name).unlink()


async def clear_indexes(git: Git) -> None:
    """Remove the private indexes and replaced files that killed processes left."""
    folder = (await git.index_path()).parent
    clear_replaced(folder)
    for name in os.listdir(folder):
        owner = _PRIVATE_INDEX.fullmatch(name)
        entry = census.find_process(int(owner[1])) if owner is not None else None
        if owner is not None and (entry is None or not entry.is_alive):
            (folder / name).unlink(missing_ok=True)
