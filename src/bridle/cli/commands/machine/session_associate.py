"""`bridle session:associate`: bind a session that has its file to a run."""

from __future__ import annotations

from bridle.cli.programs.light_command import RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_runs
from bridle.cli.programs.session_argument import (
    RUN_ID,
    WHICH,
    change_session,
    chosen_file,
    required_run_id,
    warn,
    warn_of_runs_elsewhere,
)
from bridle.errors import RunAssociated
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions.binding import UNKNOWN, refuse_running, state_of
from bridle.hosts.sessions.session import Session, SessionFile

_OPTIONS = (
    *WHICH,
    RUN_ID,
    Option("--force", "Also where the session has another run, if that one has ended."),
    RUNS_DIR,
)


def _run(given: Given) -> int:
    path, run_id, runs = chosen_file(given), required_run_id(given), chosen_runs(given)

    def change(found: SessionFile) -> Session:
        _check(found.session.run_id, runs, is_forced=given.has("--force"))
        return found.session.changed(run_id=run_id, active=True)

    change_session(path, change, holder="session:associate")
    warn_of_runs_elsewhere(given, runs)
    if state_of(runs, run_id) == UNKNOWN:
        warn(f"there is no run {run_id} in {runs} that can be read; until there is, nothing holds the session")
    if given.has("--json"):
        print_json({"stateFile": str(path), "runId": run_id}, pretty=True)
    else:
        print(f"[session:associate] stateFile={path} runId={run_id}")
    return 0


def _check(other: str, runs: Path, *, is_forced: bool) -> None:
    if other and not is_forced:
        raise RunAssociated(
            f"Session already associated with run: {other}",
            remedy="--force binds it anew if that run has ended.",
            payload={"existingRunId": other},
        )
    if other:
        refuse_running(runs, other)


command = Light("Bind a session that has its file to a run.", _run, options=_OPTIONS)
