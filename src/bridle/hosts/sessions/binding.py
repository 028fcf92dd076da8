"""The binding of a host's session to a run: the session file names the run that its Stop hook blocks for.

The decision is made before the run is created, and the file is written after it, all under the session's lock. A
process that is killed in between leaves a complete run without a session; a session is never bound to a missing run.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from bridle.errors import Error, RunAssociated, RunStillActive
from bridle.ground.light.quick_path import Path
from bridle.ground.light.shell_word import shell_word
from bridle.hosts.sessions import binding_record, session_file
from bridle.hosts.sessions.binding_record import BindingRecord
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, SessionFile, new_file, new_session
from bridle.journal.format.state import COMPLETED, FAILED, HALTED
from bridle.journal.stores.file_reader import FileReader

ENDED = (COMPLETED, FAILED, HALTED)
UNKNOWN = "unknown"


class BindRequest:
    """A session and the run that it shall be bound to."""

    __slots__ = ("max_iterations", "now", "path", "prompt", "run_id", "runs")

    def __init__(
        self, *, path: Path, run_id: str, runs: Path, prompt: str, now: str, max_iterations: int | None = None
    ) -> None:
        self.path = path
        """The session file."""
        self.run_id = run_id
        self.runs = runs
        """The folder of runs, in which the session's present run is looked up too."""
        self.prompt = prompt
        self.now = now
        self.max_iterations = max_iterations
        """None keeps the present limit."""


def decide(request: BindRequest, file: SessionFile | None, state_of_other: str | None = None) -> SessionFile:
    """Return the new session file; raise RunAssociated if the session has another run that has not ended.

    `state_of_other` is the state of that other run, if there is one.
    """
    other = file.session.run_id if file is not None else ""
    is_other = other not in ("", request.run_id)
    if is_other and state_of_other not in ENDED:
        raise _associated(request, other, state_of_other or UNKNOWN)
    if file is None or is_other:
        return _new_session_file(request)
    session = file.session.changed(
        active=True,
        run_id=request.run_id,
        max_iterations=request.max_iterations,
        started_at=file.session.started_at or request.now,
        last_iteration_at=file.session.last_iteration_at or request.now,
    )
    # The prompt is kept; a session that has just started has none, and in a damaged file it may be anything.
    keeps_prompt = bool(file.prompt) and not (file.faults and request.prompt)
    return file.with_session(session) if keeps_prompt else new_file(request.path, session, request.prompt)


def plan(request: BindRequest) -> SessionFile:
    """Return the new session file by what is on disk now; write nothing."""
    file = session_file.read(request.path)
    other = file.session.run_id if file is not None else ""
    is_other = other not in ("", request.run_id)
    return decide(request, file, state_of(run_of(request.path, other, request.runs)) if is_other else None)


def bind(request: BindRequest, create: Callable[[], Path], undo: Callable[[Path], None]) -> Path:
    """Create the run and bind the session to it, or neither."""
    with session_file.held(request.path, "run:create"):
        file = plan(request)
        run = create()
        try:
            record(request.path, run)
            session_file.write(file)
        except BaseException:
            undo(run)
            raise
    return run


def record(path: Path, run: Path) -> None:
    """Record where the file and the run of a session are, so that its Stop hook finds both from any folder.

    The mark beside the session file keeps the shell part of the hook from deciding, also where the host has another
    BRIDLE_HOME, or the variable of another session.
    """
    session_file.mark_as_bound(path)
    binding_record.write(path.stem, BindingRecord(path, run), os.environ)


def run_of(path: Path, run_id: str, runs: Path) -> Path:
    """Return the folder of the run that a session is bound to: the recorded one, else the one among these runs."""
    found = binding_record.read(path.stem, os.environ)
    is_there = found is not None and found.is_of(run_id) and os.path.isdir(found.run)
    return found.run if found is not None and is_there else runs / run_id


def state_of(run: Path) -> str:
    """Return the state of a run; `unknown` if it is missing or cannot be read."""
    reader = FileReader(run)
    try:
        reader.metadata()
        return reader.position().state
    except Error:
        return UNKNOWN


def refuse_running(run: Path) -> None:
    """Raise RunStillActive if the run has not ended; a run that cannot be read counts as ended."""
    if state_of(run) not in (*ENDED, UNKNOWN):
        raise RunStillActive(
            f"the session is bound to run {run.name}, which has not ended",
            remedy=f"Complete it, or end it with: bridle run:halt {shell_word(str(run))}",
            payload={"existingRunId": run.name},
        )


def _new_session_file(request: BindRequest) -> SessionFile:
    limit = DEFAULT_MAX_ITERATIONS if request.max_iterations is None else request.max_iterations
    session = new_session(request.now, run_id=request.run_id, max_iterations=limit)
    return new_file(request.path, session, request.prompt)


def _associated(request: BindRequest, other: str, state: str) -> RunAssociated:
    run = shell_word(str(run_of(request.path, other, request.runs)))
    return RunAssociated(
        f"Session already associated with run: {other}",
        remedy=(
            f"That run has not ended (its state is {state}). Complete it, end it with `bridle run:halt {run}`, "
            f"or remove {request.path} if you do not need that run."
        ),
        payload={"existingRunId": other, "runState": state, "stateFile": str(request.path)},
    )
