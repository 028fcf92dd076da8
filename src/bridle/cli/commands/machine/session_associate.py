"""`bridle session:associate`: bind an existing session to a run."""

from __future__ import annotations

import os

from bridle.cli.machine_interface.light_command import RUNS_DIR, Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.run_argument import runs_dir
from bridle.cli.machine_interface.session_argument import (
    RUN_ID,
    SESSION_OPTIONS,
    change_session,
    find_session_file,
    required_run_id,
    warn,
)
from bridle.errors import RunAssociated, RunNotFound
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.binding import UNKNOWN, record, refuse_running, run_of, state_of
from bridle.hosts.sessions.session import Session, SessionFile

_OPTIONS = (
    *SESSION_OPTIONS,
    RUN_ID,
    Option("--force", "Replace another run of the session, if that one has ended."),
    RUNS_DIR,
)


def _run(args: Arguments) -> int:
    path, run_id, runs = find_session_file(args), required_run_id(args), runs_dir(args)

    def change(file: SessionFile) -> Session:
        if file.session.run_id != run_id or file.session.active:
            _check(path, file.session.run_id, run_id, runs, is_forced=args.has("--force"))
        if not os.path.isdir(runs / run_id):
            raise RunNotFound(f"run {run_id} not found in {runs}", remedy="Pass --runs-dir, or another id.")
        record(path, runs / run_id)
        return file.session.changed(run_id=run_id, active=True)

    session = change_session(path, change, holder="session:associate")
    if session.is_spent:
        warn(f"{path} has reached its iteration limit of {session.max_iterations}; its stops are not blocked")
    if state_of(runs / run_id) == UNKNOWN:
        warn(f"the run {run_id} in {runs} cannot be read; stops are not blocked until it can")
    if args.has("--json"):
        print_json({"stateFile": str(path), "runId": run_id}, pretty=True)
    else:
        print(f"[session:associate] stateFile={path} runId={run_id}")
    return 0


def _check(path: Path, bound: str, run_id: str, runs: Path, *, is_forced: bool) -> None:
    if bound and not is_forced:
        is_own = bound == run_id
        raise RunAssociated(
            f"Session already associated with run: {bound}",
            remedy=(
                "It is active, and its stops are blocked for that run. There is nothing to do."
                if is_own
                else "Pass --force to replace it, if that run has ended."
            ),
            payload={"existingRunId": bound},
        )
    if bound:
        refuse_running(run_of(path, bound, runs))


command = LightCommand("Bind an existing session to a run.", _run, options=_OPTIONS)
