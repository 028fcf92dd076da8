"""`bridle session:update`: change a session's file."""

from __future__ import annotations

import os

from bridle.cli.machine_interface.light_command import Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.session_argument import (
    SESSION_OPTIONS,
    change_session,
    find_session_file,
    session_document,
)
from bridle.errors import UsageError
from bridle.ground.light.quick_path import Path
from bridle.hosts.sessions import binding_record, session_file
from bridle.hosts.sessions.session import NUMBER_LIMIT, Session, SessionFile, is_moment, parse_count, parse_durations

_OPTIONS = (
    *SESSION_OPTIONS,
    Option("--iteration", "The current iteration of the session.", value="N"),
    Option("--last-iteration-at", "When its last iteration started, such as 2026-03-02T10:05:30Z.", value="ISO"),
    Option("--iteration-times", "Durations of the last iterations in seconds; three are kept.", value="N,N,N"),
    Option("--delete", "Remove the file of the session."),
)


def _run(args: Arguments) -> int:
    path = find_session_file(args)
    if args.has("--delete"):
        return _delete(args, path)
    iteration, since, times = _iteration(args), _since(args), _times(args)

    def change(file: SessionFile) -> Session:
        return file.session.changed(iteration=iteration, last_iteration_at=since, iteration_times=times)

    state = session_document(change_session(path, change, holder="session:update"))
    if args.has("--json"):
        print_json({"success": True, "state": state, "stateFile": str(path)}, pretty=True)
    else:
        print(f"[session:update] stateFile={path} iteration={state['iteration']}")
    return 0


def _delete(args: Arguments, path: Path) -> int:
    is_deleted = session_file.delete(path)
    binding_record.remove(path.stem, os.environ)
    if args.has("--json"):
        print_json({"success": True, "deleted": is_deleted, "stateFile": str(path)}, pretty=True)
    else:
        print(f"[session:update] {'deleted' if is_deleted else 'not found'}: {path}")
    return 0


def _iteration(args: Arguments) -> int | None:
    text = args.text("--iteration")
    number = parse_count(text) if text is not None else None
    if text is not None and number is None:
        raise UsageError(f"--iteration must be an integer from 0 to {NUMBER_LIMIT}, got {text!r}")
    return number


def _since(args: Arguments) -> str | None:
    text = args.text("--last-iteration-at")
    if text is not None and not is_moment(text):
        raise UsageError(f"--last-iteration-at must be a time such as 2026-03-02T10:05:30Z, got {text!r}")
    return text


def _times(args: Arguments) -> tuple[int, ...] | None:
    text = args.text("--iteration-times")
    if text is None:
        return None
    numbers, are_valid = parse_durations(text)
    if not are_valid:
        raise UsageError(f"--iteration-times must be integers of seconds separated by commas, got {text!r}")
    return numbers


command = LightCommand("Change a session's file.", _run, options=_OPTIONS)
