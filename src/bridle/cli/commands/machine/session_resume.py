"""`bridle session:resume`: go on with a run in a session, whatever session it was begun in."""

from __future__ import annotations

import os
import time

from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, print_json
from bridle.cli.programs.run_argument import chosen_runs
from bridle.cli.programs.session_argument import (
    MAX_ITERATIONS,
    RUN_ID,
    WHICH,
    chosen_file,
    chosen_limit,
    required_run_id,
    warn,
    warn_of_runs_elsewhere,
)
from bridle.errors import Error, RunIsCompleted, RunNotFound
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.binding import UNKNOWN, refuse_running, state_of
from bridle.hosts.sessions.session import DEFAULT_MAX_ITERATIONS, SessionFile, moment, new_file, new_session
from bridle.journal.format.state import COMPLETED, HALTED
from bridle.journal.stores.file_reader import FileReader

_OPTIONS = (*WHICH, RUN_ID, MAX_ITERATIONS, RUNS_DIR)


def _run(given: Given) -> int:
    path, run_id, runs, limit = chosen_file(given), required_run_id(given), chosen_runs(given), chosen_limit(given)
    if not os.path.isdir(runs / run_id):
        raise RunNotFound(f"there is no run {run_id} in {runs}", remedy="Give --runs-dir, or another id.")
    state = state_of(runs, run_id)
    if state in (COMPLETED, HALTED):
        raise RunIsCompleted(
            f"run {run_id} is {state}: there is nothing left to do in it",
            remedy="bridle run:create makes a new run.",
            payload={"runId": run_id, "runState": state},
        )
    process_id, prompt = _asked_for(runs / run_id)
    session = new_session(
        moment(time.time_ns()), run_id=run_id, max_iterations=DEFAULT_MAX_ITERATIONS if limit is None else limit
    )
    file = new_file(path, session, _prompt(run_id, process_id, state, prompt))

    def change(found: SessionFile | None) -> SessionFile:
        _check(found, runs, run_id)
        return file

    session_file.changed(path, change, holder="session:resume")
    warn_of_runs_elsewhere(given, runs)
    document = {"stateFile": str(path), "runId": run_id, "runState": state, "processId": process_id}
    if given.has("--json"):
        print_json(document, pretty=True)
    else:
        print("[session:resume] " + " ".join(f"{name}={value}" for name, value in document.items()))
    return 0


def _asked_for(run: Path) -> tuple[str, str]:
    """What the process is called, and the words of the person who asked for the run."""
    try:
        metadata = FileReader(run).metadata()
    except Error as error:
        warn(f"{error.message}; the session is bound to it all the same, so that it can be mended")
        return UNKNOWN, ""
    process_id, prompt = metadata.get("processId"), metadata.get("prompt")
    return (process_id if isinstance(process_id, str) else UNKNOWN), (prompt if isinstance(prompt, str) else "")


def _check(found: SessionFile | None, runs: Path, run_id: str) -> None:
    """A session that is held for another run that goes on is not taken away from it."""
    if found is None or not found.session.active or found.session.run_id in ("", run_id):
        return
    refuse_running(runs, found.session.run_id)


def _prompt(run_id: str, process_id: str, state: str, prompt: str) -> str:
    advice = (
        f"Go on with run {run_id} of the process {process_id}; its state is {state}.\n\n"
        "Call run:iterate, perform the effects that it lists, post each result with task:post, then stop. "
        "If the run has failed or cannot be read, find out why and mend it first."
    )
    return f"{advice}\n\nIt was asked for in these words:\n\n{prompt}" if prompt else advice


command = Light("Go on with a run in a session.", _run, options=_OPTIONS)
