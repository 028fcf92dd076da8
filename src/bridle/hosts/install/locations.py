"""The folders of installed plugins: the default ones, and a list of chosen ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.ground.home import bridle_home
from bridle.ground.lock import FileLock

USER = "user"
PROJECT = "project"

OWN_FOLDER = "plugin"
LIST_FILE = "plugins.json"
LOCK_FILE = "plugins.lock"
# Writing the list takes milliseconds; a process that holds the lock longer is stuck.
LOCK_SECONDS = 10.0

# Claude Code loads plugins from here in each new session.
HOST_FOLDER = "skills/bridle"
HOST_SETTINGS = ".claude"
HOST_SETTINGS_VARIABLE = "CLAUDE_CONFIG_DIR"


def default_folder(scope: str | None, project: Path, environment: Mapping[str, str]) -> Path:
    """Return the default folder of a scope, which sessions load; without a scope Bridle's own, which they do not."""
    if scope == USER:
        configured = environment.get(HOST_SETTINGS_VARIABLE)
        settings = Path(configured) if configured else Path(environment.get("HOME") or Path.home()) / HOST_SETTINGS
        return Path(os.path.abspath(settings / HOST_FOLDER))
    if scope == PROJECT:
        return Path(os.path.abspath(project / HOST_SETTINGS / HOST_FOLDER))
    return Path(os.path.abspath(bridle_home(environment) / OWN_FOLDER))


def candidates(project: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return every folder that may contain our plugin, the nearest to the project first."""
    defaults = [default_folder(scope, project, environment) for scope in (PROJECT, USER, None)]
    return list(dict.fromkeys([*defaults, *listed_folders(bridle_home(environment))]))


def listed_folders(home: Path) -> list[Path]:
    value = disk.read_json(home / LIST_FILE)
    if value is None:
        return []
    folders = value.get("folders") if isinstance(value, dict) else None
    if not isinstance(folders, list) or not all(isinstance(folder, str) for folder in folders):
        raise DiskError(f"{home / LIST_FILE} must have a list 'folders'", remedy="Remove it, then install again.")
    return [Path(folder) for folder in folders]


def remember(folder: Path, home: Path) -> None:
    """Add a chosen folder to the list."""
    _change(home, lambda known: known if folder in known else [*known, folder])


def forget(folder: Path, home: Path) -> None:
    """Remove a folder from the list; delete an empty list."""
    if (home / LIST_FILE).exists():
        _change(home, lambda known: [other for other in known if other != folder])


def _change(home: Path, change: Callable[[list[Path]], list[Path]]) -> None:
    disk.make_private_folder(home)
    with FileLock.hold(home / LOCK_FILE, holder="bridle plugin", wait_seconds=LOCK_SECONDS):
        known = listed_folders(home)
        wanted = change(known)
        if not wanted:
            (home / LIST_FILE).unlink(missing_ok=True)
            # A process that waits for this lock notices the new lock file and takes that one.
            (home / LOCK_FILE).unlink(missing_ok=True)
        elif wanted != known:
            disk.write_json_atomic(home / LIST_FILE, {"folders": [str(folder) for folder in wanted]})
