"""The SessionStart hook: export the session id to the agent's commands, and create the session file."""

from __future__ import annotations

import os
import time

from bridle.errors import Error
from bridle.ground import ids
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters import SESSION_VARIABLE
from bridle.hosts.hooks.env_exports import export_folder, export_variable
from bridle.hosts.hooks.hook_protocol import Answer, HookCall, approve, read_payload
from bridle.hosts.hooks.shell_command import IN_PLUGIN
from bridle.hosts.sessions import session_file

HOLDER = "hook:run session-start"


def answer(call: HookCall) -> Answer:
    """Register a session; a step that fails becomes a warning."""
    payload = read_payload(call.stdin)
    if payload is None:
        return approve("the SessionStart hook's payload must be a JSON object; the session is not registered")
    if not call.adapter.holds_sessions:
        return approve()
    if payload.session_id is None:
        return approve("the SessionStart hook's payload has no session_id; the session is not registered")
    try:
        session_id = ids.check_id(payload.session_id, what="the session id")
    except Error as error:
        return approve(str(error))
    warnings: list[str] = []
    try:
        _export(call, session_id)
    except Error as error:
        warnings.append(f"{SESSION_VARIABLE} is not exported: {error}")
    try:
        folders = call.adapter.resolve_state_dirs(call.state_dir, call.plugin_root, payload.cwd, call.environ)
        _create_file(session_file.path_of(folders[0], session_id))
    except Error as error:
        warnings.append(f"the session file is not created: {error}")
    return approve(*warnings)


def _export(call: HookCall, session_id: str) -> None:
    """Export the session id, and put the plugin's `bridle` on the PATH, for later commands of the session."""
    variable = call.adapter.exports_variable
    path = call.environ.get(variable) if variable else None
    if not path:
        return
    export_variable(path, SESSION_VARIABLE, session_id)
    program = os.path.join(call.plugin_root or "", IN_PLUGIN)
    if call.plugin_root and os.access(program, os.X_OK):
        export_folder(path, os.path.dirname(program))


def _create_file(path: Path) -> None:
    """Create the file of a new session: active, without a run."""
    now = session_file.moment(time.time_ns())
    session_file.create(session_file.new_file(path, session_file.new_session(now), ""), holder=HOLDER)
