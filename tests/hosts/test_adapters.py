"""The hosts that Bridle knows: how each is recognised, what its hooks say, where its sessions are."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from bridle.hosts import adapters
from bridle.hosts.adapters import FLAG, Adapter
from bridle.hosts.hooks import session_start, stop_hook
from bridle.hosts.hooks.hook_protocol import HookCall, Payload, read_payload
from tests.hosts.fixtures.session_folder import SessionFolder, make_session

RECORDED = Path(__file__).parent
HOSTS = ["claude-code", "codex"]
# What the hosts said to their hooks, and the version that said it.
RECORDINGS = {"claude-code": "claude-2.1.197", "codex": "codex-0.166.0"}


def adapter(name: str) -> Adapter:
    found = adapters.by_name(name)
    assert found is not None
    return found


def recorded(host: str, name: str) -> bytes:
    return (RECORDED / RECORDINGS[host] / f"{name}.json").read_bytes()


def payload_of(host: str, name: str) -> Payload:
    payload = read_payload(recorded(host, name))
    assert payload is not None
    return payload


# recognised


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({}, "none"),
        ({"AGENT_SESSION_ID": "s"}, "claude-code"),
        ({"CLAUDE_ENV_FILE": "/f"}, "claude-code"),
        ({"CODEX_THREAD_ID": "t"}, "codex"),
        ({"CODEX_SESSION_ID": "t"}, "codex"),
        ({"CODEX_THREAD_ID": "t", "AGENT_SESSION_ID": "s"}, "codex"),
        ({"AGENT_SESSION_ID": "", "CLAUDE_ENV_FILE": "", "CODEX_THREAD_ID": ""}, "none"),
        ({"CLAUDE_PLUGIN_ROOT": "/p"}, "none"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value) or "nothing",
)
def test_a_host_is_recognised_by_its_variables_in_order(environ: dict[str, str], name: str) -> None:
    assert adapters.detect(environ).name == name


def test_every_name_has_its_adapter_and_no_other_has_one() -> None:
    assert [adapter(name).name for name in (*adapters.NAMES, "none")] == ["codex", "claude-code", "none"]
    assert [adapters.by_name(name) for name in ("", "cursor", "Claude-Code")] == [None] * 3


# what its hooks say


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(("name", "event"), [("session-start", "SessionStart"), ("stop", "Stop")])
def test_what_a_host_told_its_hook_is_understood(host: str, name: str, event: str) -> None:
    said, payload = json.loads(recorded(host, name)), payload_of(host, name)
    assert (payload.event, payload.session_id, payload.cwd) == (event, said["session_id"], "/home/user/project")
    assert (payload.last_message, payload.is_subagent) == (said.get("last_assistant_message"), False)


def test_a_transcript_is_read_only_where_it_is_written_in_a_way_that_is_known() -> None:
    assert (adapter("claude-code").reads_transcript, adapter("codex").reads_transcript) == (True, False)
    assert payload_of("codex", "stop").last_message == "Answer 2."


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"null", b"[]", b'"s"', b"\xff\xfe", b"[" * 100_000, b'{"session_id":'],
    ids=range(8),
)
def test_what_is_no_object_is_no_payload(data: bytes) -> None:
    assert read_payload(data) is None


@pytest.mark.parametrize("value", [None, 7, "", "  ", [], {"a": 1}, True], ids=ascii)
def test_a_field_that_is_no_text_counts_as_missing(value: object) -> None:
    fields = ("session_id", "cwd", "transcript_path", "last_assistant_message", "hook_event_name")
    payload = read_payload(json.dumps(dict.fromkeys(fields, value)).encode())
    assert payload is not None
    found = (payload.session_id, payload.cwd, payload.transcript_path, payload.last_message, payload.event)
    assert found == (None,) * 5


# which session


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("hook", [stop_hook, session_start], ids=["stop", "session-start"])
def test_a_payload_without_a_session_has_none_whatever_the_environment_holds(
    hook: ModuleType, host: str, tmp_path: Path
) -> None:
    environ = dict.fromkeys(("AGENT_SESSION_ID", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID"), "stale")
    answer = hook.answer(HookCall(adapter(host), b"{}", environ, state_dir=str(tmp_path)))
    assert (answer.document, "has no session_id" in answer.warnings[0], list(tmp_path.iterdir())) == ({}, True, [])


@pytest.mark.parametrize("host", HOSTS)
def test_the_flag_comes_before_what_was_inherited(host: str) -> None:
    environ = dict.fromkeys(adapter(host).session_variables, "stale")
    given = adapter(host).resolve_session_id("s1", environ)
    assert given is not None
    assert (given.session_id, given.source, given.is_inherited) == ("s1", FLAG, False)
    for empty in (None, "", "  "):
        inherited = adapter(host).resolve_session_id(empty, environ)
        assert inherited is not None
        assert (inherited.session_id, inherited.is_inherited) == ("stale", True)
    assert adapter(host).resolve_session_id(None, {}) is None


@pytest.mark.parametrize("host", HOSTS)
def test_of_several_inherited_ids_the_hosts_own_comes_first(host: str) -> None:
    variables = adapter(host).session_variables
    own = {"claude-code": "CLAUDE_CODE_SESSION_ID", "codex": "CODEX_THREAD_ID"}[host]
    assert variables[0] == own
    for number, name in enumerate(variables):
        identity = adapter(host).resolve_session_id(None, {later: later for later in variables[number:]})
        assert identity is not None
        assert (identity.session_id, identity.source) == (name, name)


# where its sessions are


@pytest.mark.parametrize(("host", "variable"), [("claude-code", "CLAUDE_PLUGIN_ROOT"), ("codex", "CODEX_PLUGIN_ROOT")])
def test_the_plugin_is_where_the_caller_or_the_host_says(host: str, variable: str) -> None:
    environ = {variable: "/plugin"}
    roots = [adapter(host).resolve_plugin_root(given, environ) for given in ("/given", None, "")]
    assert roots == ["/given", "/plugin", "/plugin"]
    assert adapter(host).resolve_plugin_root(None, {}) is None
    assert adapter(host).resolve_plugin_root("here", {}) == f"{Path.cwd()}/here"
    assert str(adapter(host).resolve_state_dirs(None, None, "/cwd", environ)[0]) == "/plugin/skills/babysit/state"
    assert str(adapter(host).resolve_state_dirs("/state", None, "/cwd", environ)[0]) == "/state"
    assert str(adapter(host).resolve_state_dirs(None, None, "/cwd", {})[0]) == "/cwd/.a5c/state"


# its two hooks


@pytest.mark.parametrize("host", HOSTS)
def test_a_session_is_begun_bound_and_held_with_what_the_host_itself_says(host: str, tmp_path: Path) -> None:
    place = SessionFolder(tmp_path)
    session_id = json.loads(recorded(host, "stop"))["session_id"]

    def call(name: str) -> HookCall:
        said = json.loads(recorded(host, name)) | {"cwd": str(tmp_path), "session_id": session_id}
        return HookCall(adapter(host), json.dumps(said).encode(), {}, state_dir=str(place.state))

    assert session_start.answer(call("session-start")).document == {}
    assert place.file(session_id).session.run_id == ""
    assert stop_hook.answer(call("stop")).document == {}
    place.make_run("r1", is_waiting=True)
    place.put(make_session(run_id="r1"), name=session_id)
    for name in ("stop", "stop-after-a-block"):
        assert stop_hook.answer(call(name)).document["decision"] == "block"
    assert place.file(session_id).session.iteration == 5


def test_no_host_begins_nothing_and_holds_no_session(tmp_path: Path) -> None:
    place = SessionFolder(tmp_path)
    place.make_run("r1", is_waiting=True)
    place.put(make_session(run_id="r1"))
    said = {"session_id": "s1", "cwd": str(tmp_path)}
    call = HookCall(adapter("none"), json.dumps(said).encode(), {}, state_dir=str(place.state))
    assert stop_hook.answer(call).document == {}
    before = sorted(tmp_path.rglob("*"))
    call = HookCall(adapter("none"), json.dumps(said | {"session_id": "s2"}).encode(), {}, state_dir=str(place.state))
    assert session_start.answer(call).document == {}
    assert sorted(tmp_path.rglob("*")) == before
