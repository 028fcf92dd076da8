"""`bridle session:resume`: bind a session to an existing run, which any session may have started."""

from __future__ import annotations

import os
import time

from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, print_json
from bridle.cli.machine_interface.run_argument import runs_dir
from bridle.cli.machine_interface.session_argument import (
    MAX_ITERATIONS,
    RUN_ID,
    SESSION_OPTIONS,
    find_session_file,
    iteration_limit,
    required_run_id,
    warn,
)
from bridle.errors import Error, RunIsCompleted, RunNotFound
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.binding import UNKNOWN, record, refuse_running, run_of, state_of
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, SessionFile, moment, new_file, new_session
from bridle.journal.format.state import COMPLETED, HALTED
from bridle.journal.stores.file_reader import FileReader

_OPTIONS = (*SESSION_OPTIONS, RUN_ID, MAX_ITERATIONS, RUNS_DIR)


def _run(args: Arguments) -> int:
    path, run_id, runs, limit = find_session_file(args), required_run_id(args), runs_dir(args), iteration_limit(args)
    if not os.path.isdir(runs / run_id):
        raise RunNotFound(f"run {run_id} not found in {runs}", remedy="Pass --runs-dir, or another id.")
    state = state_of(runs / run_id)
    if state in (COMPLETED, HALTED):
        raise RunIsCompleted(
            f"run {run_id} is {state}: nothing is left to do",
            remedy="Create a new run with `bridle run:create`.",
            payload={"runId": run_id, "runState": state},
        )
    process_id, prompt = _process_and_prompt(runs / run_id)
    session = new_session(
        moment(time.time_ns()), run_id=run_id, max_iterations=DEFAULT_MAX_ITERATIONS if limit is None else limit
    )
    file = new_file(path, session, _prompt(run_id, process_id, state, prompt))

    def change(current: SessionFile | None) -> SessionFile:
        _check(current, runs, run_id)
        record(path, runs / run_id)
        return file

    session_file.changed(path, change, holder="session:resume")
    document = {"stateFile": str(path), "runId": run_id, "runState": state, "processId": process_id}
    if args.has("--json"):
        print_json(document, pretty=True)
    else:
        print("[session:resume] " + " ".join(f"{name}={value}" for name, value in document.items()))
    return 0


def _process_and_prompt(run: Path) -> tuple[str, str]:
    """Return the process id and the user's prompt of a run."""
    try:
        metadata = FileReader(run).metadata()
    except Error as error:
        warn(f"{error.message}; the session is bound to the run anyway, so that it can be repaired")
        return UNKNOWN, ""
    return metadata.process_id or UNKNOWN, metadata.prompt or ""


def _check(current: SessionFile | None, runs: Path, run_id: str) -> None:
    """Refuse to take a session away from another run that has not ended."""
    if current is None or not current.session.active or current.session.run_id in ("", run_id):
        return
    refuse_running(run_of(current.path, current.session.run_id, runs))


def _prompt(run_id: str, process_id: str, state: str, prompt: str) -> str:
    advice = (
        f"Continue run {run_id} of the process {process_id}; its state is {state}.\n\n"
        "Call run:iterate, execute the effects that it lists, post each result with task:post, then stop. "
        "If the run has failed or cannot be read, find the cause and fix it first."
    )
    return f"{advice}\n\nThe user's prompt:\n\n{prompt}" if prompt else advice


command = LightCommand("Bind a session to an existing run.", _run, options=_OPTIONS)
