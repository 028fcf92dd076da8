"""The last session of each mode in this workspace.

Those of planner and coder are in the file of the seed format, which has no field for a summarizer: that one has its own
file.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import DiskError
from bridle.ground import clock, disk
from bridle.run.logs import STATE_FOLDER, private_folder
from bridle.run.request import Mode

# Joined once: each iteration reads them.
_SESSION = STATE_FOLDER / "claude-session.json"
_SUMMARIZER = STATE_FOLDER / "summarizer-session.json"


class Sessions(Struct, frozen=True):
    """The last session of each mode."""

    planner: str | None = None
    coder: str | None = None
    summarizer: str | None = None

    def of(self, mode: Mode) -> str | None:
        """Return the last session of a mode."""
        return {Mode.PLANNER: self.planner, Mode.CODER: self.coder, Mode.SUMMARIZER: self.summarizer}[mode]


def session_file(workspace: Path) -> Path:
    return workspace / _SESSION


def summarizer_file(workspace: Path) -> Path:
    return workspace / _SUMMARIZER


def session_files(workspace: Path) -> tuple[Path, Path]:
    return session_file(workspace), summarizer_file(workspace)


def read(workspace: Path) -> Sessions:
    planner, coder = _read_ids(session_file(workspace), "planner_session_id", "coder_session_id")
    (summarizer,) = _read_ids(summarizer_file(workspace), "session_id")
    return Sessions(planner, coder, summarizer)


def remember(workspace: Path, mode: Mode, session_id: str, moment: datetime) -> None:
    """Write the current session of a mode. A file that an agent has damaged is written anew."""
    try:
        known = read(workspace)
    except DiskError:
        known = Sessions()
    known = replace(known, **{mode.value: session_id})
    private_folder(workspace, STATE_FOLDER)
    if mode is Mode.SUMMARIZER:
        value = {"session_id": known.summarizer, "updated_at": clock.iso(moment)}
        disk.write_json_atomic(summarizer_file(workspace), value)
        return
    value = {
        "planner_session_id": known.planner,
        "coder_session_id": known.coder,
        "updated_at": clock.iso(moment),
    }
    disk.write_json_atomic(session_file(workspace), value)


def _read_ids(path: Path, *names: str) -> list[str | None]:
    value = disk.read_json(path)
    if value is None:
        return [None] * len(names)
    if not isinstance(value, dict):
        raise DiskError(f"{path} must hold a JSON object", remedy="Repair it, or delete it to start new sessions.")
    return [_id(value.get(name), path) for name in names]


def _id(value: object, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise DiskError(f"{path}: a session id must be a string, got {value!r}", remedy="Repair or delete the file.")
