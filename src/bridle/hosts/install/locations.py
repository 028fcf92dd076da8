"""Where plugins of ours are on this machine: the usual folders, and a list of those that were chosen."""

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
SCOPES = (USER, PROJECT)

OWN_FOLDER = "plugin"
LIST_FILE = "plugins.json"
LOCK_FILE = "plugins.lock"
# Writing the list takes milliseconds; whoever holds the lock longer is stuck.
LOCK_SECONDS = 10.0

# Claude Code loads what lies here as a plugin, by itself, in each new session.
HOST_FOLDER = "skills/bridle"
HOST_SETTINGS = ".claude"
HOST_SETTINGS_VARIABLE = "CLAUDE_CONFIG_DIR"


def place(scope: str | None, project: Path, environment: Mapping[str, str]) -> Path:
    """The usual folder: Bridle's own, which no session loads by itself, or that of a scope, which sessions do."""
    if scope == USER:
        chosen = environment.get(HOST_SETTINGS_VARIABLE)
        settings = Path(chosen) if chosen else Path(environment.get("HOME") or Path.home()) / HOST_SETTINGS
        return Path(os.path.abspath(settings / HOST_FOLDER))
    if scope == PROJECT:
        return Path(os.path.abspath(project / HOST_SETTINGS / HOST_FOLDER))
    return Path(os.path.abspath(bridle_home(environment) / OWN_FOLDER))


def candidates(project: Path, environment: Mapping[str, str]) -> list[Path]:
    """Every folder that a plugin of ours may be in, without repetition; the nearest to the project first."""
    usual = [place(scope, project, environment) for scope in (PROJECT, USER, None)]
    return list(dict.fromkeys([*usual, *listed(bridle_home(environment))]))


def listed(home: Path) -> list[Path]:
    """The folders that were chosen for a plugin and are still noted."""
    value = disk.read_json(home / LIST_FILE)
    if value is None:
        return []
    folders = value.get("folders") if isinstance(value, dict) else None
    if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
        raise DiskError(f"{home / LIST_FILE} does not list folders", remedy="Move it away and install again.")
    return [Path(one) for one in folders]


def note(folder: Path, home: Path) -> None:
    """Remember a folder that was chosen."""
    _change(home, lambda known: known if folder in known else [*known, folder])


def forget(folder: Path, home: Path) -> None:
    """Take a folder off the list; the list goes with its last one."""
    if (home / LIST_FILE).exists():
        _change(home, lambda known: [one for one in known if one != folder])


def _change(home: Path, change: Callable[[list[Path]], list[Path]]) -> None:
    disk.make_private_folder(home)
    with FileLock.hold(home / LOCK_FILE, holder="bridle plugin", wait_seconds=LOCK_SECONDS):
        known = listed(home)
        wanted = change(known)
        if not wanted:
            (home / LIST_FILE).unlink(missing_ok=True)
            # Whoever waits for this lock sees that the file is another one, and takes that.
            (home / LOCK_FILE).unlink(missing_ok=True)
        elif wanted != known:
            disk.write_json_atomic(home / LIST_FILE, {"folders": [str(one) for one in wanted]})
