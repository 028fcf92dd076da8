"""`bridle run:create`: create a run of a process."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bridle import _PROCESSES
from bridle.cli.machine_interface.fire_hooks import fire_hooks
from bridle.cli.machine_interface.light_command import (
    DRY_RUN,
    HOOKS_PLUGIN,
    NO_HOOKS,
    RUNS_DIR,
    Arguments,
    LightCommand,
    Option,
    print_json,
)
from bridle.cli.machine_interface.run_argument import runs_dir
from bridle.cli.machine_interface.session_argument import (
    MAX_ITERATIONS,
    SESSION_ID,
    STATE_DIR,
    iteration_limit,
)
from bridle.cli.machine_interface.session_binding import (
    SessionBinding,
    binding_document,
    requested_binding,
    warn_of_binding,
    warn_of_unbound,
)
from bridle.engine.hooks.find_hooks import ON_RUN_START
from bridle.errors import DiskError, UsageError
from bridle.ground import disk, ids
from bridle.ground.light.moments import iso
from bridle.hosts.sessions.binding import bind, plan
from bridle.journal.format import codec
from bridle.journal.format.input_values import parse_input
from bridle.journal.format.layout import DEFAULT_EXPORT
from bridle.journal.stores.create import NewRun, create_run, entrypoint, undo_run
from bridle.journal.stores.effect_files import FILE_LIMIT_BYTES

_OPTIONS = (
    Option("--process-id", "The id of the process.", value="ID", is_required=True),
    Option("--entry", "The process: a Python file and the function in it.", value="PATH#NAME", is_required=True),
    RUNS_DIR,
    Option("--inputs", "File with the inputs of the process, as JSON.", value="FILE"),
    Option("--run-id", "The id of the run (default: a new one).", value="ID"),
    Option("--process-revision", "The revision of the process.", value="TEXT"),
    Option("--request", "The request that the run serves (default: the process id).", value="TEXT"),
    Option("--prompt", "The user's prompt.", value="TEXT"),
    Option("--harness", "The host that drives the run; its session is bound to the run.", value="NAME"),
    SESSION_ID,
    HOOKS_PLUGIN,
    STATE_DIR,
    MAX_ITERATIONS,
    Option("--non-interactive", "No user to ask: the agent that executes effects resolves breakpoints."),
    NO_HOOKS,
    DRY_RUN,
)


def _run(args: Arguments) -> int:
    iteration_limit(args)
    runs, new = runs_dir(args), _new_run(args)
    session = requested_binding(args, runs, new.run_id, new.prompt)
    if session is not None and session.request is not None:
        new.harness = session.harness
        session.check(plan(session.request))  # refuse a session that cannot be bound before loading the process
    if args.has("--dry-run"):
        return _plan(args, runs, new, session)
    from bridle.engine.process.load_process import check

    if new.entry is not None:  # a run of a process that cannot be loaded is never created
        new.code_digest = check(new.entry, new.export)
    run = _create(runs, new, session)
    _exclude(runs)
    entry = "#".join(entrypoint(new, run).values())
    inputs = {"inputs": new.inputs} if new.has_inputs else {}
    fire_hooks(args, run, ON_RUN_START, {"processId": new.process_id, "entry": entry, **inputs})
    if session is not None:
        warn_of_binding(session)
    else:
        warn_of_unbound()
    if args.has("--json"):
        bound = {"session": binding_document(session)} if session is not None else {}
        print_json({"runId": new.run_id, "runDir": str(run), "entry": entry, **bound}, pretty=True)
    else:
        print(f"[run:create] runId={new.run_id} runDir={run} entry={entry}{_format_binding(session)}")
    return 0


def _create(runs: Path, new: NewRun, session: SessionBinding | None) -> Path:
    """Create the run and bind its session: both, or neither."""

    def make() -> Path:
        return create_run(runs, new, proof=ids.new_token(), ulid=ids.new_id(), created_at=iso(time.time_ns()))

    if session is None or session.request is None:
        return make()
    return bind(session.request, make, undo_run)


def _exclude(runs: Path) -> None:
    """Keep runs out of commits: an agent that adds everything would commit the journal and the completion proof."""
    from bridle.ground.git_exclude import exclude_from_git
    from bridle.ground.git_folder import repository_top

    top = repository_top(runs)
    try:
        if top is not None:
            exclude_from_git(top, runs=runs)
    except DiskError as error:
        print(f"bridle: git will show {runs} as untracked: {error.message}", file=sys.stderr)


def _format_binding(session: SessionBinding | None) -> str:
    if session is None or session.request is None:
        return ""
    return f" session={session.session_id} harness={session.harness} stateFile={session.request.path}"


def _new_run(args: Arguments) -> NewRun:
    path, _, export = args.required("--entry").rpartition("#")
    if not path:  # no # in it: the whole is the path
        path, export = export, ""
    if not path:
        raise UsageError("--entry must name a file before the #", remedy="Write it as ./process.py#process.")
    run_id = args.text("--run-id")
    inputs = args.text("--inputs")
    return NewRun(
        run_id=ids.check_id(run_id, what="the run id") if run_id is not None else ids.new_id(),
        process_id=_process_id(args),
        entry=Path(os.path.abspath(path)),
        export=export or DEFAULT_EXPORT,
        request=args.text("--request"),
        revision=args.text("--process-revision"),
        prompt=args.text("--prompt"),
        harness=args.text("--harness"),
        has_inputs=inputs is not None,
        inputs=_read_inputs(inputs) if inputs is not None else None,
        is_interactive=not args.has("--non-interactive"),
    )


def _process_id(args: Arguments) -> str:
    process_id = args.required("--process-id")
    if process_id in _PROCESSES:
        raise UsageError(
            f"--process-id must not be {process_id!r}: it names a process of Bridle itself", remedy="Choose another id."
        )
    return process_id


def _read_inputs(name: str) -> object:
    try:
        return parse_input(disk.read_bounded(Path(name), FILE_LIMIT_BYTES))
    except DiskError as error:
        raise UsageError(f"--inputs: {error.message}", remedy=error.remedy) from error
    except codec.BadText as error:
        raise UsageError(f"--inputs: {name}: {error}") from error


def _plan(args: Arguments, runs: Path, new: NewRun, session: SessionBinding | None) -> int:
    inputs = args.text("--inputs")
    document: dict[str, object] = {
        "dryRun": True,
        "runsDir": str(runs),
        "processId": new.process_id,
        "entry": f"{new.entry}#{new.export}",
        "runId": args.text("--run-id"),
        "request": new.request,
        "processRevision": new.revision,
        "inputsPath": os.path.abspath(inputs) if inputs is not None else None,
    }
    if session is not None:
        warn_of_binding(session)
        document["session"] = {**binding_document(session), "bound": False}
    if args.has("--json"):
        print_json(document, pretty=True)
    else:
        fields = {name: value for name, value in document.items() if name not in ("dryRun", "session")}
        line = " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
        print(f"[run:create] dry-run {line}")
    return 0


command = LightCommand("Create a run of a process.", _run, options=_OPTIONS)
