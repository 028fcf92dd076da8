"""The session that an agent or a hook named on its command line, and how its file is told."""

from __future__ import annotations

import os
import sys

from bridle.cli.programs.light_command import RUNS_DIR, Given, Option
from bridle.errors import RunIdMissing, SessionFileUnusable, SessionIdMissing, SessionNotFound, UsageError
from bridle.ground import ids
from bridle.ground.light.abc_names import Callable
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters import registry
from bridle.hosts.adapters.adapter import Adapter, Identity
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.frontmatter import NUMBER_LIMIT
from bridle.hosts.sessions.session import Session, SessionFile
from bridle.journal.stores.find_run import runs_folder

SESSION_ID = Option("--session-id", "The session of the host (default: what the environment says).", value="ID")
STATE_DIR = Option(
    "--state-dir",
    "Where session files are (default: $BABYSITTER_STATE_DIR, else the plugin's folder of state, else .a5c/state).",
    value="DIR",
)
HARNESS = Option("--harness", "The host (default: the one that the environment shows).", value="NAME")
PLUGIN_ROOT = Option("--plugin-root", "The folder of the plugin in the host.", value="DIR")
RUN_ID = Option("--run-id", "The id of the run.", value="ID")
MAX_ITERATIONS = Option("--max-iterations", "How often the session may go round; 0 is without limit.", value="N")
WHICH = (SESSION_ID, STATE_DIR, HARNESS, PLUGIN_ROOT)


def chosen_adapter(given: Given) -> Adapter:
    """The host that is named, else the one that the environment shows."""
    name = given.text(HARNESS.name)
    if not name:
        return registry.detect(os.environ)
    adapter = registry.by_name(name)
    if adapter is None:
        raise UsageError(f"there is no host {name!r}", remedy=f"Bridle knows {', '.join(registry.NAMES)}.")
    return adapter


def chosen_file(given: Given) -> Path:
    """The file of the session, which need not exist."""
    adapter = chosen_adapter(given)
    identity = identity_of(given, adapter)
    return find_file(given, adapter, identity.session_id)


def identity_of(given: Given, adapter: Adapter) -> Identity:
    """The session that is meant; one that was inherited is said to be."""
    flag = given.text(SESSION_ID.name)
    identity = Identity(flag, SESSION_ID.name) if flag else adapter.resolve_session_id(None, None, os.environ)
    if identity is None:
        raise SessionIdMissing(
            "--session-id is missing", remedy="Give the id that the host's hooks tell as session_id."
        )
    if identity.is_inherited:
        warn(inherited_words(identity))
    return identity


def inherited_words(identity: Identity) -> str:
    """Says where a session id came from that nobody gave."""
    return (
        f"the session id {identity.session_id!a} was inherited through ${identity.source}; "
        "it may be that of another session. Give --session-id to be sure."
    )


def find_file(given: Given, adapter: Adapter, session_id: str) -> Path:
    """Where the session's file is; where it would be made, when there is none."""
    if session_id.startswith("${"):  # bound to this, a run would be held by nobody, and nobody would know why
        raise UsageError(
            f"the session id {session_id[: ids.ID_LIMIT_CHARACTERS]!a} is a variable that nobody filled in",
            remedy="Give the id itself: the one that the host's hooks tell as session_id.",
        )
    folders = adapter.resolve_state_dirs(given.text(STATE_DIR.name), given.text(PLUGIN_ROOT.name), None, os.environ)
    paths = [session_file.path_of(folder, session_id) for folder in folders]
    there = [path for path in paths if os.path.lexists(path)]
    # The Stop hook goes by the file that is bound, wherever it is; so must whoever looks at it, or lets it go.
    return next((path for path in there if _has_run(path)), (there or paths)[0])


def change_session(path: Path, change: Callable[[SessionFile], Session], *, holder: str) -> Session:
    """Change the session of a file that is there; gives what it is now."""
    if not os.path.lexists(path):  # looked for before the lock is taken: who is refused has changed nothing
        raise no_session(path)

    def changed(found: SessionFile | None) -> SessionFile:
        if found is None:
            raise no_session(path)
        warn_of_faults(path, found.faults)
        return found.with_session(change(found))

    file = session_file.changed(path, changed, holder=holder)
    if file is None:
        raise no_session(path)
    return file.session


def _has_run(path: Path) -> bool:
    try:
        file = session_file.read(path)
    except SessionFileUnusable:
        return False  # said by whoever reads it
    return file is not None and file.session.run_id != ""


def runs_elsewhere(given: Given, runs: Path) -> str | None:
    """Says that the host's hooks would not find a run in the folder of runs that was given, where that is so."""
    usual = runs_folder(None, os.environ)
    if not given.has(RUNS_DIR.name) or runs == usual:
        return None
    return (
        f"the host's hooks look for runs in {usual}, and this one is in {runs}: "
        "start the host with $BABYSITTER_RUNS_DIR set to that folder"
    )


def warn_of_runs_elsewhere(given: Given, runs: Path) -> None:
    """Say so: a session whose run the hooks do not find is not held."""
    words = runs_elsewhere(given, runs)
    if words is not None:
        warn(words)


def required_run_id(given: Given) -> str:
    """The run id, which must be given."""
    run_id = given.text(RUN_ID.name)
    if not run_id:
        raise RunIdMissing("--run-id is missing", remedy="Give the id of the run that the session shall be bound to.")
    return ids.check_id(run_id, what="the run id")


def chosen_limit(given: Given) -> int | None:
    """How often the session may go round, where that was given."""
    limit = given.number(MAX_ITERATIONS.name)
    if limit is not None and limit > NUMBER_LIMIT:
        raise UsageError(f"{MAX_ITERATIONS.name} is at most {NUMBER_LIMIT}", remedy="0 is without limit.")
    return limit


def no_session(path: Path) -> SessionNotFound:
    """The refusal for a session without a file."""
    return SessionNotFound(f"there is no session file {path}", remedy="bridle session:init makes one.")


def session_document(session: Session) -> dict[str, object]:
    """A session as programs are told of it."""
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
    """Say what is wrong in a session file."""
    for fault in faults:
        warn(f"{path}: {fault}")


def warn(words: str) -> None:
    """Say something to people that changes no answer."""
    print(f"bridle: {words}", file=sys.stderr)
