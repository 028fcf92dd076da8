"""`bridle session:update`: change what a session's file says."""

from __future__ import annotations

from bridle.cli.programs.light_command import Given, Light, Option, print_json
from bridle.cli.programs.session_argument import WHICH, change_session, chosen_file, session_document
from bridle.errors import UsageError
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.frontmatter import NUMBER_LIMIT, count, durations, is_moment
from bridle.hosts.sessions.session import Session, SessionFile

_OPTIONS = (
    *WHICH,
    Option("--iteration", "The iteration that the session is in.", value="N"),
    Option("--last-iteration-at", "When its last iteration began, such as 2026-03-02T10:05:30Z.", value="ISO"),
    Option("--iteration-times", "How many seconds the last iterations took; three are kept.", value="N,N,N"),
    Option("--delete", "Remove the file of the session."),
)


def _run(given: Given) -> int:
    path = chosen_file(given)
    if given.has("--delete"):
        return _delete(given, path)
    iteration, since, times = _iteration(given), _since(given), _times(given)

    def change(found: SessionFile) -> Session:
        return found.session.changed(iteration=iteration, last_iteration_at=since, iteration_times=times)

    state = session_document(change_session(path, change, holder="session:update"))
    if given.has("--json"):
        print_json({"success": True, "state": state, "stateFile": str(path)}, pretty=True)
    else:
        print(f"[session:update] stateFile={path} iteration={state['iteration']}")
    return 0


def _delete(given: Given, path: Path) -> int:
    is_deleted = session_file.delete(path)
    if given.has("--json"):
        print_json({"success": True, "deleted": is_deleted, "stateFile": str(path)}, pretty=True)
    else:
        print(f"[session:update] {'deleted' if is_deleted else 'not found'}: {path}")
    return 0


def _iteration(given: Given) -> int | None:
    text = given.text("--iteration")
    number = count(text) if text is not None else None
    if text is not None and number is None:
        raise UsageError(f"--iteration takes a whole number from 0 to {NUMBER_LIMIT}, not {text!r}")
    return number


def _since(given: Given) -> str | None:
    text = given.text("--last-iteration-at")
    if text is not None and not is_moment(text):
        raise UsageError(f"--last-iteration-at takes a moment such as 2026-03-02T10:05:30Z, not {text!r}")
    return text


def _times(given: Given) -> tuple[int, ...] | None:
    text = given.text("--iteration-times")
    if text is None:
        return None
    numbers, are_all_good = durations(text)
    if not are_all_good:
        raise UsageError(f"--iteration-times takes whole numbers of seconds with commas between, not {text!r}")
    return numbers


command = Light("Change what a session's file says.", _run, options=_OPTIONS)
