"""The record of a binding: where the session file and the run of a session are, whatever its present folder is.

One small file a session in `$BRIDLE_HOME/sessions`, since a session file has no field for the folder of its run and may
itself be in a folder that the session has left. A record is only a hint: the session file decides whether and to which
run the session is bound, and a record of another run is ignored. Hooks import this module.
"""

from __future__ import annotations

import os

from bridle.errors import DiskError, RunNotFound
from bridle.ground import disk, ids
from bridle.ground.light.abc_names import Iterator, Mapping
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file
from bridle.journal.format import layout
from bridle.journal.stores.find_run import collapse

# Two paths and a flag; a larger file is not a record.
RECORD_LIMIT_BYTES = 64 * 1024

_INACTIVE = "inactive"


class BindingRecord:
    """Where the file and the run of a bound session are; immutable."""

    __slots__ = ("is_inactivity_noted", "path", "run")

    def __init__(self, path: Path, run: Path, *, is_inactivity_noted: bool = False) -> None:
        self.path = path
        """The session file."""
        self.run = run
        """The folder of the run, whose name is the run's id."""
        self.is_inactivity_noted = is_inactivity_noted
        """Whether the run's journal has the entry that the session is inactive."""

    def is_of(self, run_id: str) -> bool:
        """Return whether the session was bound to this run."""
        return self.run.name == run_id


def read(session_id: str, environ: Mapping[str, str]) -> BindingRecord | None:
    """Return the record of a session; None without a valid one."""
    try:
        data = disk.read_if_exists(session_file.record_path(session_id, environ), RECORD_LIMIT_BYTES)
    except DiskError:
        return None  # the session file and the run are looked for in the usual folders
    fields = [os.fsdecode(field) for field in data.split(b"\0")] if data is not None else []
    if len(fields) != 3 or not all(map(os.path.isabs, fields[:2])):
        return None
    return BindingRecord(Path(fields[0]), Path(fields[1]), is_inactivity_noted=fields[2] == _INACTIVE)


def find_session_run(
    run_id: str,
    runs_dir: str | None,
    cwd: str | None,
    environ: Mapping[str, str],
    record: BindingRecord | None = None,
) -> Path:
    """Return the folder of a session's run, or raise RunNotFound.

    It is the recorded folder. Without one, or where it has been moved, it is looked for: an agent changes folders, so
    the run may be in a parent of its present folder.
    """
    ids.check_id(run_id, what="the run id")
    if record is not None and os.path.lexists(record.run / layout.RUN_FILE):
        return record.run
    explicit = runs_dir or environ.get(layout.RUNS_FOLDER_VARIABLE)
    folders = list(dict.fromkeys(_candidates(explicit, cwd, environ)))
    for folder in folders:
        if os.path.lexists(os.path.join(folder, run_id, layout.RUN_FILE)):
            return Path(os.path.join(folder, run_id))
    raise RunNotFound(
        f"the run {run_id} of this session is not in {folders[0]}, nor in the other folders of runs",
        remedy="Set BABYSITTER_RUNS_DIR to its folder, or bind the session to another run.",
    )


def write(session_id: str, record: BindingRecord, environ: Mapping[str, str]) -> None:
    """Replace the record of a session, durably."""
    path = session_file.record_path(session_id, environ)
    fields = (str(record.path), str(record.run), _INACTIVE if record.is_inactivity_noted else "")
    try:
        disk.make_private_folder(path.parent)
        disk.write_atomic(path, b"\0".join(map(os.fsencode, fields)))
    except DiskError as error:
        raise DiskError(
            f"the session cannot be bound: {error.message}",
            remedy="Set BRIDLE_HOME to a folder that you can write to, and start the host with it too.",
            payload=error.payload,
        ) from error


def remove(session_id: str, environ: Mapping[str, str]) -> None:
    """Remove the record of a session, if there is one."""
    try:
        os.unlink(session_file.record_path(session_id, environ))
    except OSError:
        pass  # missing, or left behind: it names a session file that does not exist


def _candidates(explicit: str | None, cwd: str | None, environ: Mapping[str, str]) -> Iterator[str]:
    if explicit:
        yield collapse(os.path.abspath(explicit))
        return
    for base in (cwd, environ.get(session_file.PROJECT_VARIABLE), "."):
        folder = os.path.abspath(base) if base else ""
        while folder:
            yield collapse(os.path.join(folder, layout.RUNS_FOLDER))
            parent = os.path.dirname(folder)
            folder = parent if parent != folder else ""
