"""The session that a command line names, and the JSON document of its file."""

from __future__ import annotations

import os
import sys

from bridle.cli.machine_interface.light_command import Arguments, Option
from bridle.errors import RunIdMissing, SessionFileUnusable, SessionIdMissing, SessionNotFound, UsageError
from bridle.ground import ids
from bridle.ground.light.abc_names import Callable
from bridle.ground.light.quick_path import Path
from bridle.hosts import adapters
from bridle.hosts.adapters import Adapter, Identity
from bridle.hosts.sessions import binding_record, session_file
from bridle.hosts.sessions.session import NUMBER_LIMIT, Session, SessionFile

SESSION_ID = Option("--session-id", "The session of the host (default: from the environment).", value="ID")
STATE_DIR = Option(
    "--state-dir",
    "Folder of the session files (default: $BABYSITTER_STATE_DIR, else the plugin's state folder, else .a5c/state).",
    value="DIR",
)
HARNESS = Option("--harness", "The host (default: detected from the environment).", value="NAME")
PLUGIN_ROOT = Option("--plugin-root", "The folder of the plugin in the host.", value="DIR")
RUN_ID = Option("--run-id", "The id of the run.", value="ID")
MAX_ITERATIONS = Option("--max-iterations", "Iterations that the session may run; 0 means no limit.", value="N")
SESSION_OPTIONS = (SESSION_ID, STATE_DIR, HARNESS, PLUGIN_ROOT)


def find_adapter(args: Arguments) -> Adapter:
    """Return the host that is named, else the one detected from the environment."""
    name = args.text(HARNESS.name)
    if not name:
        return adapters.detect(os.environ)
    adapter = adapters.by_name(name)
    if adapter is None:
        raise UsageError(f"unknown host {name!r}", remedy=f"Use one of {', '.join(adapters.NAMES)}.")
    return adapter


def find_session_file(args: Arguments) -> Path:
    """Return the path of the session's file, which need not exist."""
    adapter = find_adapter(args)
    identity = find_identity(args, adapter)
    return session_file_for(args, adapter, identity.session_id)


def find_identity(args: Arguments, adapter: Adapter) -> Identity:
    """Return the session's id; warn if it was inherited."""
    flag = args.text(SESSION_ID.name)
    identity = Identity(flag, SESSION_ID.name) if flag else adapter.resolve_session_id(None, os.environ)
    if identity is None:
        raise SessionIdMissing("--session-id is missing", remedy="Pass the session_id that the host's hooks receive.")
    if identity.is_inherited:
        warn(inherited_warning(identity))
    return identity


def inherited_warning(identity: Identity) -> str:
    """Return a warning that a session id came from the environment."""
    return (
        f"the session id {identity.session_id!a} was inherited through ${identity.source}; "
        "it may belong to another session. Pass --session-id to be sure."
    )


def session_file_for(args: Arguments, adapter: Adapter, session_id: str) -> Path:
    """Return the path of the session's file, or the path to create it at."""
    if session_id.startswith("${"):  # a run bound to this would never be held, for no visible reason
        raise UsageError(
            f"the session id {session_id[: ids.ID_LIMIT_CHARACTERS]!a} is an unexpanded variable",
            remedy="Pass the session_id that the host's hooks receive.",
        )
    folders = adapter.resolve_state_dirs(args.text(STATE_DIR.name), args.text(PLUGIN_ROOT.name), None, os.environ)
    paths = [session_file.path_of(folder, session_id) for folder in folders]
    record = None if args.text(STATE_DIR.name) else binding_record.read(session_id, os.environ)
    existing = [path for path in (*paths, *([record.path] if record else ())) if os.path.lexists(path)]
    # The Stop hook uses the file that is bound to a run, wherever it is; so must every command.
    return next((path for path in existing if _has_run(path)), (existing or paths)[0])


def change_session(path: Path, change: Callable[[SessionFile], Session], *, holder: str) -> Session:
    """Change the session of an existing file and return the new one."""
    if not os.path.lexists(path):  # checked before the lock is taken: a refused command changes nothing
        raise session_not_found(path)

    def apply(current: SessionFile | None) -> SessionFile:
        if current is None:
            raise session_not_found(path)
        warn_of_faults(path, current.faults)
        return current.with_session(change(current))

    file = session_file.changed(path, apply, holder=holder)
    if file is None:
        raise session_not_found(path)
    return file.session


def _has_run(path: Path) -> bool:
    try:
        file = session_file.read(path)
    except SessionFileUnusable:
        return False  # reported when it is read
    return file is not None and file.session.run_id != ""


def required_run_id(args: Arguments) -> str:
    run_id = args.text(RUN_ID.name)
    if not run_id:
        raise RunIdMissing("--run-id is missing", remedy="Pass the id of the run to bind the session to.")
    return ids.check_id(run_id, what="the run id")


def iteration_limit(args: Arguments) -> int | None:
    """Return how many iterations the session may run, or None by default."""
    limit = args.number(MAX_ITERATIONS.name)
    if limit is not None and limit > NUMBER_LIMIT:
        raise UsageError(
            f"{MAX_ITERATIONS.name} must be at most {NUMBER_LIMIT}, got {limit}", remedy="0 means no limit."
        )
    return limit


def session_not_found(path: Path) -> SessionNotFound:
    """Return the error for a session without a file."""
    return SessionNotFound(f"session file not found: {path}", remedy="Create it with `bridle session:init`.")


def session_document(session: Session) -> dict[str, object]:
    return {
        "active": session.active,
        "iteration": session.iteration,
        "maxIterations": session.max_iterations,
        "runId": session.run_id,
        "startedAt": session.started_at,
        "lastIterationAt": session.last_iteration_at,
        "iterationTimes": list(session.iteration_times),
    }


def warn_of_faults(path: Path, faults: tuple[str, ...]) -> None:
    """Print what is wrong in a session file."""
    for fault in faults:
        warn(f"{path}: {fault}")


def warn(message: str) -> None:
    """Print a warning on stderr."""
    print(f"bridle: {message}", file=sys.stderr)
