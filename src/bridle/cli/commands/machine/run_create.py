"""`bridle run:create`: create a run of a process."""

from __future__ import annotations

import os
import time
from pathlib import Path

from bridle.cli.programs.fire_hooks import tell
from bridle.cli.programs.light_command import DRY_RUN, NO_HOOKS, RUNS_DIR, Given, Light, Option, print_json
from bridle.cli.programs.run_argument import chosen_runs
from bridle.cli.programs.session_argument import MAX_ITERATIONS, PLUGIN_ROOT, SESSION_ID, STATE_DIR, chosen_limit
from bridle.cli.programs.session_binding import Asked, asked, say, say_unasked, told
from bridle.engine.hooks.find_hooks import ON_RUN_START
from bridle.errors import DiskError, UsageError
from bridle.ground import disk, ids
from bridle.ground.light.moments import iso
from bridle.hosts.sessions.binding import plan
from bridle.journal.format import codec
from bridle.journal.format.layout import DEFAULT_EXPORT
from bridle.journal.format.ulid import RANDOM_BYTES, next_ulid
from bridle.journal.stores.create import NewRun, create_run, entrypoint, undo_run
from bridle.journal.stores.effect_files import FILE_LIMIT_BYTES

_OPTIONS = (
    Option("--process-id", "What the process is called.", value="ID", is_required=True),
    Option("--entry", "The process: a Python file and the name in it.", value="PATH#NAME", is_required=True),
    RUNS_DIR,
    Option("--inputs", "File with the inputs of the process, as JSON.", value="FILE"),
    Option("--run-id", "The id of the run (default: a fresh one).", value="ID"),
    Option("--process-revision", "Which revision of the process this is.", value="TEXT"),
    Option("--request", "What the run was asked for (default: the process id).", value="TEXT"),
    Option("--prompt", "The words of the person who asked for it.", value="TEXT"),
    Option("--harness", "The host that the run is driven from; its session is bound to the run.", value="NAME"),
    SESSION_ID,
    PLUGIN_ROOT,
    STATE_DIR,
    MAX_ITERATIONS,
    Option("--non-interactive", "No person is there to ask; breakpoints are for whoever performs effects."),
    NO_HOOKS,
    DRY_RUN,
)


def _run(given: Given) -> int:
    chosen_limit(given)
    runs, new = chosen_runs(given), _new_run(given)
    session = asked(given, runs, new.run_id, new.prompt)
    if session is not None and session.wish is not None:
        new.harness = session.harness
        plan(session.wish)  # a session that cannot be bound is refused before the process is looked at
    if given.has("--dry-run"):
        return _plan(given, runs, new, session)
    new.code_digest = _check_process(new)
    run = _create(runs, new, session)
    entry = "#".join(entrypoint(new, run).values())
    inputs = {"inputs": new.inputs} if new.has_inputs else {}
    tell(given, run, ON_RUN_START, {"processId": new.process_id, "entry": entry, **inputs})
    if session is not None:
        say(session)
    else:
        say_unasked()
    if given.has("--json"):
        bound = {"session": told(session)} if session is not None else {}
        print_json({"runId": new.run_id, "runDir": str(run), "entry": entry, **bound}, pretty=True)
    else:
        print(f"[run:create] runId={new.run_id} runDir={run} entry={entry}{_bound_words(session)}")
    return 0


def _create(runs: Path, new: NewRun, session: Asked | None) -> Path:
    """Make the run, and bind the session that was asked for: both, or neither."""

    def make() -> Path:
        return create_run(runs, new, proof=ids.new_token(), ulid=_fresh_id(), created_at=iso(time.time_ns()))

    if session is None or session.adapter is None or session.wish is None:
        return make()
    return session.adapter.bind_session(session.wish, make, undo_run)


def _bound_words(session: Asked | None) -> str:
    if session is None or session.wish is None:
        return ""
    return f" session={session.session_id} harness={session.harness} stateFile={session.wish.path}"


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
    from bridle.engine.process.load_process import check

    return check(new.entry, new.export)


def _read_inputs(name: str) -> object:
    try:
        return codec.parse(disk.read_bounded(Path(name), FILE_LIMIT_BYTES))
    except DiskError as error:
        raise UsageError(f"--inputs: {error.message}", remedy=error.remedy) from error
    except codec.BadText as error:
        raise UsageError(f"--inputs: {name} is not JSON: {error}") from error


def _plan(given: Given, runs: Path, new: NewRun, session: Asked | None) -> int:
    inputs = given.text("--inputs")
    document: dict[str, object] = {
        "dryRun": True,
        "runsDir": str(runs),
        "processId": new.process_id,
        "entry": f"{new.entry}#{new.export}",
        "runId": given.text("--run-id"),
        "request": new.request,
        "processRevision": new.revision,
        "inputsPath": os.path.abspath(inputs) if inputs is not None else None,
    }
    if session is not None:
        say(session)
        document["session"] = {**told(session), "bound": False}
    if given.has("--json"):
        print_json(document, pretty=True)
    else:
        shown = {name: value for name, value in document.items() if name not in ("dryRun", "session")}
        words = " ".join(f"{name}={value}" for name, value in shown.items() if value is not None)
        print(f"[run:create] dry-run {words}")
    return 0


def _fresh_id() -> str:
    return next_ulid("", now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))


command = Light("Create a run of a process.", _run, options=_OPTIONS)
