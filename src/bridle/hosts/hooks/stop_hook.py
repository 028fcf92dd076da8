"""The Stop hook: a session that is bound to a run is held until the run has completed and the agent shows its proof.

Four phases: the payload, the session's file, the run's journal, the answer. The first two are here, since most stops
are of sessions without a run; the others are in `bound_stop`, and what is decided in `stop_rules`. A session that is
not ours is never touched, and a run that cannot be read holds nobody.
"""

from __future__ import annotations

from bridle.ground.light.abc_names import Sequence
from bridle.ground.light.quick_path import Path
from bridle.hosts.adapters.adapter import Adapter, HookCall
from bridle.hosts.hooks.hook_answer import Answer, approve, remarks_on
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import SessionFile

OWNER = "hook:run stop"

# A sub-agent ends: its session goes on, and is not held for that.
SUBAGENT_EVENT = "SubagentStop"


def answer(adapter: Adapter, call: HookCall) -> Answer:
    """Decide whether the session of a payload may end."""
    payload = adapter.read_payload(call.stdin)
    if payload is None:
        return approve("the Stop hook got no payload that it can read")
    if payload.event == SUBAGENT_EVENT or payload.fields.get("agent_id"):
        return approve()
    identity = adapter.resolve_session_id(None, payload, call.environ)
    if identity is None:
        return approve("the Stop hook's payload names no session") if adapter.holds_sessions else approve()
    folders = adapter.resolve_state_dirs(call.state_dir, call.plugin_root, payload.cwd, call.environ)
    found = _find_session(folders, identity.session_id)
    if found is None:
        return approve()
    if not found.session.run_id:
        return _without_run(found)
    from bridle.hosts.hooks.stop_bound_session import BoundStop

    plugin_root = adapter.resolve_plugin_root(call.plugin_root, call.environ)
    return BoundStop(call, payload, identity.session_id, plugin_root, found).answer()


def _find_session(folders: Sequence[Path], session_id: str) -> SessionFile | None:
    """The session's file: the first that has a run, else the first that is there."""
    files = (session_file.read(session_file.path_of(folder, session_id)) for folder in folders)
    found = [file for file in files if file is not None]
    return next((file for file in found if file.session.run_id), found[0] if found else None)


def _without_run(found: SessionFile) -> Answer:
    """No run holds this session; binding it to one makes it active again."""
    if found.session.active and not found.faults:
        session_file.changed(found.path, lambda file: ended(file, ""), holder=OWNER)
    return Answer(None, remarks_on(found))


def ended(file: SessionFile | None, run_id: str) -> SessionFile | None:
    """The file with its session at its end, unless somebody has changed its mind meanwhile."""
    if file is None or file.session.run_id != run_id or not file.session.active:
        return None
    return file.with_session(file.session.changed(active=False))
