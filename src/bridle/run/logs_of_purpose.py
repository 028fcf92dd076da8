"""Finds the logs of all agents that were started for one purpose, including agents of killed drivers."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.errors import DiskError
from bridle.ground import ids
from bridle.run.request import Mode

if TYPE_CHECKING:
    from bridle.run.read_log import LoggedRun


class Purpose(Struct, frozen=True):
    """What identifies the logs: the fields of their requests."""

    text: str
    mode: Mode
    task: str


def log_paths(purpose: Purpose, workspaces: Sequence[Path], but: Collection[Path | None] = ()) -> Iterator[Path]:
    """Yield the paths of the logs with that purpose; those that cannot be read only an agent can have made."""
    from bridle.run.log_meta import LOG_SUFFIX, read_meta  # most runs have no such logs
    from bridle.run.logs import FOLDER

    name = f"{purpose.mode}-{ids.safe_name(purpose.task)}"
    for path in (path for workspace in workspaces for path in _files(workspace / FOLDER, name, LOG_SUFFIX)):
        try:
            if path not in but and read_meta(path).purpose == purpose.text:
                yield path
        except (OSError, DiskError):
            continue


def logs_of(
    purpose: Purpose,
    workspaces: Sequence[Path],
    but: Collection[Path | None] = (),
    read: Callable[[Path], LoggedRun] | None = None,
) -> Iterator[LoggedRun]:
    """Yield the content of the logs with that purpose; `read` reads one, as `read_log` does."""
    for path in log_paths(purpose, workspaces, but):
        from bridle.run.read_log import read_log

        try:
            yield (read or read_log)(path)
        except (OSError, DiskError):
            continue


def _files(folder: Path, name: str, suffix: str) -> list[Path]:
    """Return the files with that name after the time of their start, which may be wrong: a clock can be set."""
    try:
        found = sorted(file for file in os.listdir(folder) if f"Z-{name}" in file and file.endswith(suffix))
    except OSError:
        return []  # an agent has removed the folder
    named = (folder / file for file in found if file.partition("Z-")[2].startswith(name))
    return [path for path in named if path.is_file() and not path.is_symlink()]
