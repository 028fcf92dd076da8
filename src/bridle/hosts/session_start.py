"""The SessionStart hook: the session's id for the commands that its agent will run, and a file for the Stop hook."""

from __future__ import annotations

import os
import stat
import time

from bridle.errors import DiskError, Error
from bridle.ground import disk, ids
from bridle.ground.quick_path import Path
from bridle.hosts import session_file
from bridle.hosts.adapter import Adapter, HookCall
from bridle.hosts.answer import Answer, approve
from bridle.hosts.claude_code import SESSION_VARIABLE
from bridle.hosts.quoting import is_plain, shell_word

OWNER = "hook:run session-start"

# The host's file of exports is some lines long; a larger one is not read through, and gets the line once more.
EXPORTS_LIMIT_BYTES = 1024 * 1024

_PREFIX = f"export {SESSION_VARIABLE}="


def answer(adapter: Adapter, call: HookCall) -> Answer:
    """Make a session known; whatever cannot be done is said and leaves the session alone."""
    payload = adapter.read_payload(call.stdin)
    if payload is None:
        return approve("the SessionStart hook got no payload that it can read")
    identity = adapter.resolve_session_id(None, payload, call.environ)
    if identity is None:
        return approve("the SessionStart hook's payload names no session") if adapter.holds_sessions else approve()
    try:
        session_id = ids.check_id(identity.session_id, what="the session id")
    except Error as error:
        return approve(str(error))
    remarks: list[str] = []
    try:
        export(session_id, call.environ.get(adapter.exports_variable) if adapter.exports_variable else None)
    except Error as error:
        remarks.append(f"{SESSION_VARIABLE} is not exported: {error}")
    try:
        folders = adapter.resolve_state_dirs(call.state_dir, call.plugin_root, payload.cwd, call.environ)
        _begin(session_file.path_of(folders[0], session_id))
    except Error as error:
        remarks.append(f"the session has no state file: {error}")
    return Answer(None, tuple(remarks))


def export(session_id: str, path: str | None) -> None:
    """Let every later command of the session know its id; a file that says so already stays as it is."""
    if not path:
        return
    line = _PREFIX + (f'"{session_id}"' if is_plain(session_id) else shell_word(session_id))
    try:
        # O_NONBLOCK: a named pipe that nobody reads is refused instead of waited for.
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
    except (OSError, ValueError) as error:  # ValueError: a path that no file can have
        raise DiskError(f"{path!a} could not be opened: {error}") from error
    try:
        _append_once(fd, path, line.encode())
    except OSError as error:
        raise DiskError(f"{path!a} could not be written: {error}") from error
    finally:
        os.close(fd)


def _append_once(fd: int, path: str, line: bytes) -> None:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode):
        raise DiskError(f"{path!a} is not a regular file")
    text = os.pread(fd, EXPORTS_LIMIT_BYTES, max(0, found.st_size - EXPORTS_LIMIT_BYTES))
    exports = [known.strip() for known in text.split(b"\n") if known.startswith(_PREFIX.encode())]
    if exports and exports[-1] == line:  # an older session's line before it does not count: the last one wins
        return
    is_open = text and not text.endswith(b"\n")
    disk.write_all(fd, (b"\n" if is_open else b"") + line + b"\n")


def _begin(path: Path) -> None:
    """A file for a session that has none: active, bound to no run."""
    now = session_file.moment(time.time_ns())
    session_file.create(session_file.new_file(path, session_file.new_session(now), ""), holder=OWNER)
