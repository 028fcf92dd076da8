"""The session file: which session each mode had last in this workspace. The fields are those of the seed format."""

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
    """The last session of each mode that keeps one."""

    planner: str | None = None
    coder: str | None = None

    def of(self, mode: Mode) -> str | None:
        """The last session of this mode; a summarizer has none."""
        return {Mode.PLANNER: self.planner, Mode.CODER: self.coder}.get(mode)


def session_file(workspace: Path) -> Path:
    """Where the sessions of a workspace are kept."""
    return workspace / STATE_FOLDER / "claude-session.json"


def read(workspace: Path) -> Sessions:
    """The sessions of a workspace; none where there is no file yet."""
    path = session_file(workspace)
    value = disk.read_json(path)
    if value is None:
        return Sessions()
    if not isinstance(value, dict):
        raise DiskError(f"{path} does not hold sessions", remedy="mend it, or delete it to forget them")
    planner, coder = (_id(value.get(name), path) for name in _FIELDS.values())
    return Sessions(planner=planner, coder=coder)


def remember(workspace: Path, mode: Mode, session_id: str, moment: datetime) -> None:
    """Write down the session that a mode has now."""
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
    raise DiskError(f"{path} holds {value!r} where a session id belongs", remedy="mend or delete the file")
