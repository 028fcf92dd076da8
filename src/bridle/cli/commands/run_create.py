"""`bridle run:create`: create a run of a process."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bridle.cli.chosen import chosen_runs
from bridle.cli.light import DRY_RUN, NO_HOOKS, RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.told import tell
from bridle.engine.hook_files import ON_RUN_START
from bridle.errors import DiskError, UsageError
from bridle.ground import disk, ids
from bridle.ground.stamp import iso
from bridle.journal import codec
from bridle.journal.create import NewRun, create_run, entrypoint
from bridle.journal.layout import DEFAULT_EXPORT
from bridle.journal.tasks import FILE_LIMIT_BYTES
from bridle.journal.ulid import RANDOM_BYTES, next_ulid

_OPTIONS = (
    Option("--process-id", "What the process is called.", value="ID", is_required=True),
    Option("--entry", "The process: a Python file and the name in it.", value="PATH#NAME", is_required=True),
    RUNS_DIR,
    Option("--inputs", "File with the inputs of the process, as JSON.", value="FILE"),
    Option("--run-id", "The id of the run (default: a fresh one).", value="ID"),
    Option("--process-revision", "Which revision of the process this is.", value="TEXT"),
    Option("--request", "What the run was asked for (default: the process id).", value="TEXT"),
    Option("--prompt", "The words of the person who asked for it.", value="TEXT"),
    Option("--harness", "The program that the run is driven from.", value="NAME"),
    Option("--session-id", "The session of that program to bind to the run.", value="ID"),
    Option("--plugin-root", "The folder of the plugin in that program.", value="DIR"),
    Option("--state-dir", "Where session files are.", value="DIR"),
    Option("--max-iterations", "How often the session may go on; 0 is without limit.", value="N"),
    Option("--non-interactive", "No person is there to ask; breakpoints are for whoever performs effects."),
    NO_HOOKS,
    DRY_RUN,
)


def _run(given: Given) -> int:
    given.number("--max-iterations")
    runs, new = chosen_runs(given), _new_run(given)
    if given.has("--dry-run"):
        return _plan(given, runs, new)
    new.code_digest = _check_process(new)
    run = create_run(runs, new, proof=ids.new_token(), ulid=_fresh_id(), created_at=iso(time.time_ns()))
    entry = "#".join(entrypoint(new, run).values())
    session = _session(given)
    inputs = {"inputs": new.inputs} if new.has_inputs else {}
    tell(given, run, ON_RUN_START, {"processId": new.process_id, "entry": entry, **inputs})
    if given.has("--json"):
        bound = {"session": session} if session is not None else {}
        print_json({"runId": new.run_id, "runDir": str(run), "entry": entry, **bound}, pretty=True)
    else:
        print(f"[run:create] runId={new.run_id} runDir={run} entry={entry}")
    return 0


def _new_run(given: Given) -> NewRun:
    path, _, export = given.required("--entry").rpartition("#")
    if not path:  # no name was given: the whole is the path
        path, export = export, ""
    if not path:
        raise UsageError("--entry needs a file before the #", remedy="Write it as ./process.py#process.")
    run_id = given.text("--run-id")
    inputs = given.text("--inputs")
    return NewRun(
        run_id=ids.check_id(run_id, what="the run id") if run_id is not None else _fresh_id(),
        process_id=given.required("--process-id"),
        entry=Path(os.path.abspath(path)),
        export=export or DEFAULT_EXPORT,
        request=given.text("--request"),
        revision=given.text("--process-revision"),
        prompt=given.text("--prompt"),
        harness=given.text("--harness"),
        has_inputs=inputs is not None,
        inputs=_read_inputs(inputs) if inputs is not None else None,
        is_interactive=not given.has("--non-interactive"),
    )


def _check_process(new: NewRun) -> str:
    """Import the process once, so that a run of something that cannot run is never made; the digest of its file."""
    from bridle.engine.process import check

    return check(new.entry, new.export)


def _read_inputs(name: str) -> object:
    try:
        return codec.parse(disk.read_bounded(Path(name), FILE_LIMIT_BYTES))
    except DiskError as error:
        raise UsageError(f"--inputs: {error.message}", remedy=error.remedy) from error
    except codec.BadText as error:
        raise UsageError(f"--inputs: {name} is not JSON: {error}") from error


def _session(given: Given) -> dict[str, object] | None:
    """What became of the session that should be bound to the run."""
    session_id, harness = given.text("--session-id"), given.text("--harness")
    if session_id is None:
        return None
    ids.check_id(session_id, what="the session id")
    return {
        "harness": harness,
        "sessionId": session_id,
        "error": "binding a session to a run is not part of this version yet (it comes with step 6 of 9)",
    }


def _plan(given: Given, runs: Path, new: NewRun) -> int:
    inputs = given.text("--inputs")
    plan = {
        "dryRun": True,
        "runsDir": str(runs),
        "processId": new.process_id,
        "entry": f"{new.entry}#{new.export}",
        "runId": given.text("--run-id"),
        "request": new.request,
        "processRevision": new.revision,
        "inputsPath": os.path.abspath(inputs) if inputs is not None else None,
    }
    if given.has("--json"):
        print_json(plan, pretty=True)
    else:
        words = " ".join(f"{name}={value}" for name, value in plan.items() if value is not None and name != "dryRun")
        print(f"[run:create] dry-run {words}")
    return 0


def _fresh_id() -> str:
    return next_ulid("", now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))


command = Light("Create a run of a process.", _run, options=_OPTIONS)
