"""The session file: the last session of each mode in this workspace, with the fields of the seed format."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import clock, disk
from bridle.run.logs import STATE_FOLDER, private_folder
from bridle.run.request import Mode

_FIELDS = {Mode.PLANNER: "planner_session_id", Mode.CODER: "coder_session_id"}


@dataclass(frozen=True, slots=True)
class Sessions:
    """The last session of each mode that has sessions."""

    planner: str | None = None
    coder: str | None = None

    def of(self, mode: Mode) -> str | None:
        """Return the last session of a mode; a summarizer has none."""
        return {Mode.PLANNER: self.planner, Mode.CODER: self.coder}.get(mode)


def session_file(workspace: Path) -> Path:
    return workspace / STATE_FOLDER / "claude-session.json"


def read(workspace: Path) -> Sessions:
    path = session_file(workspace)
    value = disk.read_json(path)
    if value is None:
        return Sessions()
    if not isinstance(value, dict):
        raise DiskError(f"{path} must hold a JSON object", remedy="Repair it, or delete it to start new sessions.")
    planner, coder = (_id(value.get(name), path) for name in _FIELDS.values())
    return Sessions(planner=planner, coder=coder)


def remember(workspace: Path, mode: Mode, session_id: str, moment: datetime) -> None:
    """Write the current session of a mode."""
    if mode not in _FIELDS:
        return
    known = read(workspace)
    value = {
        "planner_session_id": session_id if mode is Mode.PLANNER else known.planner,
        "coder_session_id": session_id if mode is Mode.CODER else known.coder,
        "updated_at": clock.iso(moment),
    }
    private_folder(workspace, STATE_FOLDER)
    disk.write_json_atomic(session_file(workspace), value)


def _id(value: object, path: Path) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    raise DiskError(f"{path}: a session id must be a string, got {value!r}", remedy="Repair or delete the file.")
