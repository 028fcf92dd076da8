"""`bridle session:init`: begin a session's file."""

from __future__ import annotations

import time

from bridle.cli.programs.light_command import Given, Light, Option, print_json
from bridle.cli.programs.session_argument import MAX_ITERATIONS, RUN_ID, WHICH, chosen_file, chosen_limit
from bridle.errors import SessionExists, SessionFileUnusable
from bridle.ground import ids
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, moment, new_file, new_session

_OPTIONS = (
    *WHICH,
    MAX_ITERATIONS,
    RUN_ID,
    Option("--prompt", "The words of the person who asked for it.", value="TEXT"),
)


def _run(given: Given) -> int:
    path, limit = chosen_file(given), chosen_limit(given)
    run_id = given.text(RUN_ID.name) or ""
    if run_id:
        ids.check_id(run_id, what="the run id")
    session = new_session(
        moment(time.time_ns()),
        run_id=run_id,
        max_iterations=DEFAULT_MAX_ITERATIONS if limit is None else limit,
    )
    if not session_file.create(new_file(path, session, given.text("--prompt") or ""), holder="session:init"):
        raise _exists(path)
    document = {
        "stateFile": str(path),
        "iteration": session.iteration,
        "maxIterations": session.max_iterations,
        "runId": session.run_id,
    }
    if given.has("--json"):
        print_json(document, pretty=True)
    else:
        print(f"[session:init] stateFile={path} maxIterations={session.max_iterations} runId={run_id or '(none)'}")
    return 0


def _exists(path: Path) -> SessionExists:
    try:
        found = session_file.read(path)
    except SessionFileUnusable as error:
        return SessionExists(f"{path} is there already and could not be read: {error.message}", remedy=error.remedy)
    run_id = found.session.run_id if found is not None else ""
    remedy = "bridle session:associate binds a session that has its file to a run."
    if not run_id:
        return SessionExists(f"the session has its file already, at {path}", remedy=remedy)
    return SessionExists(f"Session already associated with run: {run_id}", remedy=remedy, payload={"runId": run_id})


command = Light("Begin a session's file.", _run, options=_OPTIONS)
