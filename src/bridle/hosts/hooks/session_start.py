"""The SessionStart hook: the session's id for the commands that its agent will run, and a file for the Stop hook."""

from __future__ import annotations

import os
import time

from bridle.errors import Error
from bridle.ground import ids
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters.adapter import Adapter, HookCall
from bridle.hosts.adapters.claude_code import SESSION_VARIABLE
from bridle.hosts.hooks.bridle_command import IN_PLUGIN
from bridle.hosts.hooks.env_exports import export_folder, export_variable
from bridle.hosts.hooks.hook_answer import Answer, approve
from bridle.hosts.sessions import session_file

OWNER = "hook:run session-start"


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
        _export(adapter, call, session_id)
    except Error as error:
        remarks.append(f"{SESSION_VARIABLE} is not exported: {error}")
    try:
        folders = adapter.resolve_state_dirs(call.state_dir, call.plugin_root, payload.cwd, call.environ)
        _begin(session_file.path_of(folders[0], session_id))
    except Error as error:
        remarks.append(f"the session has no state file: {error}")
    return Answer(None, tuple(remarks))


def _export(adapter: Adapter, call: HookCall, session_id: str) -> None:
    """Let every later command of the session know its id, and find the plugin's program where it has one."""
    path = call.environ.get(adapter.exports_variable) if adapter.exports_variable else None
    if not path:
        return
    export_variable(path, SESSION_VARIABLE, session_id)
    program = os.path.join(call.plugin_root or "", IN_PLUGIN)
    if call.plugin_root and os.access(program, os.X_OK):
        export_folder(path, os.path.dirname(program))


def _begin(path: Path) -> None:
    """A file for a session that has none: active, bound to no run."""
    now = session_file.moment(time.time_ns())
    session_file.create(session_file.new_file(path, session_file.new_session(now), ""), holder=OWNER)
