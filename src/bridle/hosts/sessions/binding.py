"""A host's session brought together with a run: the session file says which run its Stop hook holds it for.

The decision falls before the run is made, and the file is written after it, all under the session's lock. Whoever is
killed in between leaves a whole run that no session is bound to; a session is never bound to a run that is not there.
"""

from __future__ import annotations

from collections.abc import Callable

from bridle.errors import Error, RunAssociated, RunStillActive
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters.adapter import BindRequest
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, SessionFile, new_file, new_session
from bridle.journal.format.state import COMPLETED, FAILED, HALTED
from bridle.journal.stores.file_reader import FileReader

ENDED = (COMPLETED, FAILED, HALTED)
UNKNOWN = "unknown"


def decide(wish: BindRequest, found: SessionFile | None, state_of_other: str | None = None) -> SessionFile:
    """What the session file shall say; RunAssociated where the session has another run that has not ended.

    `state_of_other` is the state of that other run, where there is one.
    """
    other = found.session.run_id if found is not None else ""
    is_other = other not in ("", wish.run_id)
    if is_other and state_of_other not in ENDED:
        raise _associated(wish, other, state_of_other or UNKNOWN)
    if found is None or is_other:
        return _fresh(wish)
    session = found.session.changed(
        active=True,
        run_id=wish.run_id,
        max_iterations=wish.max_iterations,
        started_at=found.session.started_at or wish.now,
        last_iteration_at=found.session.last_iteration_at or wish.now,
    )
    # The words of the person are kept; a session that just began has none yet.
    return found.with_session(session) if found.prompt else new_file(wish.path, session, wish.prompt)


def plan(wish: BindRequest) -> SessionFile:
    """What the session file shall say, by what is on the disk now; nothing is written."""
    found = session_file.read(wish.path)
    other = found.session.run_id if found is not None else ""
    return decide(wish, found, state_of(wish.runs, other) if other not in ("", wish.run_id) else None)


def bind(wish: BindRequest, make: Callable[[], Path], undo: Callable[[Path], None]) -> Path:
    """Make the run and bind the session to it: both come to be, or neither."""
    with session_file.held(wish.path, "run:create"):
        file = plan(wish)
        run = make()
        try:
            session_file.write(file)
        except BaseException:
            undo(run)
            raise
    return run


def state_of(runs: Path, run_id: str) -> str:
    """The state of a run, whose id is safe in a path; `unknown` for one that is missing or cannot be read."""
    reader = FileReader(runs / run_id)
    try:
        reader.metadata()
        return reader.standing().state
    except Error:
        return UNKNOWN


def refuse_running(runs: Path, run_id: str) -> None:
    """Refuse to take a session from a run that goes on; one that cannot be read keeps nobody."""
    if state_of(runs, run_id) not in (*ENDED, UNKNOWN):
        raise RunStillActive(
            f"the session is bound to run {run_id}, which has not ended",
            remedy=f"Complete it, or end it with: bridle run:halt {run_id}",
            payload={"existingRunId": run_id},
        )


def _fresh(wish: BindRequest) -> SessionFile:
    limit = DEFAULT_MAX_ITERATIONS if wish.max_iterations is None else wish.max_iterations
    return new_file(wish.path, new_session(wish.now, run_id=wish.run_id, max_iterations=limit), wish.prompt)


def _associated(wish: BindRequest, other: str, state: str) -> RunAssociated:
    return RunAssociated(
        f"Session already associated with run: {other}",
        remedy=(
            f"That run has not ended (its state is {state}). Complete it, end it with `bridle run:halt {other}`, "
            f"or remove {wish.path} if nothing shall come of it."
        ),
        payload={"existingRunId": other, "runState": state, "stateFile": str(wish.path)},
    )
