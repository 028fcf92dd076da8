"""The Stop hook: block the stop of a bound session until its run completed and the agent gave the proof.

This module reads the payload and the session file, since most stops are of sessions without a run. The run's journal
and the decision are in `stop_bound_session`, the rules in `stop_rules`. A session without a file is never touched, and
a run that cannot be read blocks nothing.
"""

from __future__ import annotations

import os

from bridle.ground.light.abc_names import Mapping, Sequence
from bridle.ground.light.quick_path import Path
from bridle.hosts.hooks.hook_protocol import STOP_HOLDER, Answer, HookCall, approve, file_warnings, read_payload
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import SessionFile


def answer(call: HookCall) -> Answer:
    """Decide whether the session of a payload may stop."""
    payload = read_payload(call.stdin)
    if payload is None:
        return approve("the Stop hook's payload must be a JSON object; the session may stop")
    if payload.is_subagent or not call.adapter.holds_sessions:
        return approve()
    if payload.session_id is None:
        return approve("the Stop hook's payload has no session_id; the session may stop")
    folders = call.adapter.resolve_state_dirs(call.state_dir, call.plugin_root, payload.cwd, call.environ)
    file = _find_session(folders, payload.session_id, call.environ)
    if file is None:
        return approve()
    if file.session.run_id:
        from bridle.hosts.hooks.stop_bound_session import BoundStop

        return BoundStop(call, payload, payload.session_id, file).answer()
    if file.session.active and not file.faults:
        session_file.deactivate(file.path, "", holder=STOP_HOLDER)  # binding it to a run activates it again
    return Answer(None, file_warnings(file))


def _find_session(folders: Sequence[Path], session_id: str, environ: Mapping[str, str]) -> SessionFile | None:
    """Return the first of the session's files that has a run, else the first one."""
    first = None
    for folder in folders:
        file = session_file.read(session_file.path_of(folder, session_id))
        if file is not None and file.session.run_id:
            return file
        first = first or file
    if not os.path.lexists(session_file.record_path(session_id, environ)):
        return first
    from bridle.hosts.sessions import binding_record  # few sessions are bound

    record = binding_record.read(session_id, environ)  # the session has left the folder of its file
    file = session_file.read(record.path) if record is not None else None
    return file if file is not None and file.session.run_id else first
