"""`bridle session:init`: create the file of a session."""

from __future__ import annotations

import os
import time

from bridle.cli.machine_interface.light_command import Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.session_argument import (
    MAX_ITERATIONS,
    RUN_ID,
    SESSION_OPTIONS,
    find_session_file,
    iteration_limit,
)
from bridle.errors import SessionExists, SessionFileUnusable
from bridle.ground import ids
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.binding import record
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, moment, new_file, new_session
from bridle.journal.stores.find_run import runs_folder

_OPTIONS = (
    *SESSION_OPTIONS,
    MAX_ITERATIONS,
    RUN_ID,
    Option("--prompt", "The user's prompt.", value="TEXT"),
)


def _run(args: Arguments) -> int:
    path, limit = find_session_file(args), iteration_limit(args)
    run_id = args.text(RUN_ID.name) or ""
    if run_id:
        ids.check_id(run_id, what="the run id")
    session = new_session(
        moment(time.time_ns()),
        run_id=run_id,
        max_iterations=DEFAULT_MAX_ITERATIONS if limit is None else limit,
    )
    if run_id and not os.path.lexists(path):
        record(path, runs_folder(None, os.environ) / run_id)
    if not session_file.create(new_file(path, session, args.text("--prompt") or ""), holder="session:init"):
        raise _exists(path)
    document = {
        "stateFile": str(path),
        "iteration": session.iteration,
        "maxIterations": session.max_iterations,
        "runId": session.run_id,
    }
    if args.has("--json"):
        print_json(document, pretty=True)
    else:
        print(f"[session:init] stateFile={path} maxIterations={session.max_iterations} runId={run_id or '(none)'}")
    return 0


def _exists(path: Path) -> SessionExists:
    try:
        file = session_file.read(path)
    except SessionFileUnusable as error:
        return SessionExists(f"{path} exists and cannot be read: {error.message}", remedy=error.remedy)
    run_id = file.session.run_id if file is not None else ""
    remedy = "Bind it to a run with `bridle session:associate`."
    if not run_id:
        return SessionExists(f"the session file exists: {path}", remedy=remedy)
    return SessionExists(f"Session already associated with run: {run_id}", remedy=remedy, payload={"runId": run_id})


command = LightCommand("Create the file of a session.", _run, options=_OPTIONS)
