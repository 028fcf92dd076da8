"""The hooks of a session, seen from outside: commands of settings and plugins, callbacks of a host, trust."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agent.fixtures.raw_host import RawHost, calls, raw_host, says

ECHO = ("Bash", {"command": "echo ran"})


def hook(command: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}


def settings(**hooks: Any) -> tuple[str, ...]:
    return ("--settings", json.dumps({"hooks": hooks}))


def prints(answer: Any) -> str:
    return f"cat >/dev/null; printf %s {shlex.quote(json.dumps(answer))}"


def records(path: Path) -> str:
    return f"cat >> {shlex.quote(str(path))}"


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def register(host: RawHost, **hooks: Any) -> None:
    host.request("init", subtype="initialize", hooks=hooks)
    assert host.response("init")["subtype"] == "success"


def test_every_event_of_a_session_reaches_its_hook_with_its_fields(tmp_path: Path) -> None:
    log = tmp_path / "events"
    names = (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    )
    flags = settings(**{name: [hook(records(log))] for name in names})
    failing = ("Read", {"file_path": "missing"})
    with raw_host(tmp_path, calls(ECHO), calls(failing), says("done"), flags=flags) as host:
        host.prompt("go")
        session = host.result()["session_id"]
        assert host.end() == 0
    seen = events(log)
    assert [event["hook_event_name"] for event in seen] == [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PreToolUse",
        "PostToolUseFailure",
        "Stop",
        "SessionEnd",
    ]
    assert {event["session_id"] for event in seen} == {session}
    assert all(event["cwd"] == str(host.workspace) and event["transcript_path"].endswith(".jsonl") for event in seen)
    start, prompt, before, after, _, failure, stop, end = seen
    assert (start["source"], prompt["prompt"], end["reason"]) == ("startup", "go", "other")
    assert (before["tool_name"], before["tool_input"]["command"]) == ("Bash", "echo ran")
    assert (after["tool_response"]["stdout"], after["tool_use_id"]) == ("ran", before["tool_use_id"])
    assert "does not exist" in failure["error"]
    assert (stop["stop_hook_active"], stop["last_assistant_message"]) == (False, "done")
    during = [event for event in seen if event["hook_event_name"] not in ("SessionStart", "SessionEnd")]
    assert all(event["permission_mode"] == "default" for event in during)
    assert [event["effort"]["level"] for event in during[1:]] == ["high"] * 5
    assert "prompt_id" not in start
    assert len({event["prompt_id"] for event in seen[1:]}) == 1
    assert not {"permission_mode", "effort"} & set(end)


def test_a_hook_denies_changes_allows_or_asks_before_a_call(tmp_path: Path) -> None:
    def specific(**fields: Any) -> str:
        return prints({"hookSpecificOutput": {"hookEventName": "PreToolUse", **fields}})

    write = ("Write", {"file_path": "made.txt", "content": "x"})
    flags = settings(
        PreToolUse=[
            hook(specific(permissionDecision="deny", permissionDecisionReason="no echo"), "Bash"),
            hook(
                specific(permissionDecision="allow", updatedInput={"file_path": "other.txt", "content": "y"}), "Write"
            ),
            hook(specific(permissionDecision="ask", permissionDecisionReason="sure?"), "Read"),
        ]
    )
    read = ("Read", {"file_path": "other.txt"})
    with raw_host(tmp_path, calls(ECHO), calls(write), calls(read), says("ok"), flags=flags) as host:
        host.prompt("go")
        denials = host.result()["permission_denials"]
        assert [each["tool_name"] for each in denials] == ["Bash", "Read"]
        denied, _, asked = host.last_results()
        assert denied == "no echo"
        assert "sure?" in asked
        assert [path.name for path in host.workspace.iterdir()] == ["other.txt"]
        uses = [block for line in host.lines if line["type"] == "assistant" for block in line["message"]["content"]]
        assert [use["input"]["file_path"] for use in uses if use.get("name") == "Write"] == ["made.txt"]


def test_a_deny_rule_and_plan_mode_hold_against_a_hook_that_allows(tmp_path: Path) -> None:
    allow = prints({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})
    write = ("Write", {"file_path": "made.txt", "content": "x"})
    flags = settings(PreToolUse=[hook(allow)])
    for more in (("--disallowedTools", "Edit(made.txt)"), ("--permission-mode", "plan")):
        with raw_host(tmp_path / more[1], calls(write), says("no"), flags=(*flags, *more)) as host:
            host.prompt("go")
            host.result()
            assert list(host.workspace.iterdir()) == []


def test_exit_code_2_blocks_and_any_other_failure_is_ignored(tmp_path: Path) -> None:
    flags = settings(
        PreToolUse=[hook("echo 'not now' >&2; exit 2", "Bash"), hook("exit 1", "Read"), hook("nosuchprogram")]
    )
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a").write_text("text\n")
    with raw_host(tmp_path, calls(ECHO), calls(("Read", {"file_path": "a"})), says("ok"), flags=flags) as host:
        host.prompt("go")
        host.result()
        denied, read = host.last_results()
        assert denied == "PreToolUse:Bash hook error: [echo 'not now' >&2; exit 2]: not now\n"
        assert "text" in read


def test_a_hook_that_hangs_is_ended_with_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    flags = settings(PreToolUse=[hook(f"sleep 600 & echo $! > {mark}; sleep 600", timeout=1)])
    with raw_host(tmp_path, calls(ECHO), says("ok"), flags=flags) as host:
        host.prompt("go")
        host.result()
        assert host.last_results() == ["ran"]
        assert not Path("/proc", mark.read_text().strip()).exists()


def test_the_hooks_of_an_event_run_side_by_side_and_each_command_once(tmp_path: Path) -> None:
    pipe, log = tmp_path / "pipe", tmp_path / "log"
    meets = [f"mkfifo {pipe} 2>/dev/null; echo x > {pipe}", f"mkfifo {pipe} 2>/dev/null; cat {pipe} >/dev/null"]
    once = f"echo once >> {log}"
    flags = settings(PreToolUse=[*(hook(command, timeout=30) for command in meets), hook(once), hook(once, "Bash")])
    with raw_host(tmp_path, calls(ECHO), says("ok"), flags=flags) as host:
        host.prompt("go")
        host.result()
        assert log.read_text() == "once\n"


def test_what_hooks_say_after_a_call_follows_its_result(tmp_path: Path) -> None:
    block = prints({"decision": "block", "reason": "run the tests"})
    with raw_host(tmp_path, calls(ECHO), says("ok"), flags=settings(PostToolUse=[hook(block)])) as host:
        host.prompt("go")
        assert host.result()["num_turns"] == 2
        printed = [line["message"]["content"][0]["type"] for line in host.lines if line["type"] == "user"]
        assert printed == ["tool_result"]
        result, reminder = host.bodies()[-1]["messages"][-1]["content"][:2]
        assert (result["type"], result["content"]) == ("tool_result", "ran")
        assert "run the tests" in reminder["text"]


def test_a_stop_hook_sends_the_model_back_until_it_is_content(tmp_path: Path) -> None:
    count = tmp_path / "count"
    command = f"cat >> {tmp_path}/seen; echo x >> {count}; [ $(wc -l < {count}) -gt 2 ] || printf %s " + shlex.quote(
        json.dumps({"decision": "block", "reason": "not yet"})
    )
    flags = settings(Stop=[hook(command)])
    with raw_host(tmp_path, says("one"), says("two"), says("three"), flags=flags) as host:
        host.prompt("go")
        result = host.result()
        assert (result["result"], result["num_turns"]) == ("three", 3)
        texts = [line["message"]["content"][0]["text"] for line in host.lines if line.get("isSynthetic")]
        assert texts == ["Stop hook feedback:\nnot yet"] * 2
        assert sum(line.get("subtype") == "notification" for line in host.lines) == 1
    assert [event["stop_hook_active"] for event in events(tmp_path / "seen")] == [False, True, True]


@pytest.mark.parametrize(("cap", "answers"), [("2", 3), (None, 9)])
def test_a_stop_hook_that_always_blocks_is_overruled_at_the_cap(tmp_path: Path, cap: str | None, answers: int) -> None:
    flags = settings(Stop=[hook(prints({"decision": "block", "reason": "never"}))])
    variables = {} if cap is None else {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": cap}
    with raw_host(tmp_path, *[says("no")] * (answers + 1), flags=flags, environment=variables) as host:
        host.prompt("go")
        result = host.result()
        assert (result["subtype"], result["result"], len(host.bodies())) == ("success", "", answers)


def test_a_stop_hook_counts_against_the_limit_of_turns(tmp_path: Path) -> None:
    flags = (*settings(Stop=[hook(prints({"decision": "block", "reason": "never"}))]), "--max-turns", "2")
    with raw_host(tmp_path, *[says("no")] * 3, flags=flags) as host:
        host.prompt("go")
        assert (host.result()["subtype"], len(host.bodies())) == ("error_max_turns", 2)


@pytest.mark.parametrize("event", ["Stop", "PreToolUse", "PostToolUse"])
def test_a_hook_can_end_the_turn(tmp_path: Path, event: str) -> None:
    flags = settings(**{event: [hook(prints({"continue": False, "stopReason": "enough"}))]})
    with raw_host(tmp_path, calls(ECHO), says("done"), says("next"), flags=flags) as host:
        host.prompt("go")
        result = host.result()
        assert (result["subtype"], len(host.bodies())) == ("success", 2 if event == "Stop" else 1)
        assert result["terminal_reason"] in ("stop_hook_prevented", "hook_stopped")
        host.prompt("again")
        assert host.result()["subtype"] == "success"


def test_a_blocked_prompt_never_reaches_the_model(tmp_path: Path) -> None:
    flags = settings(UserPromptSubmit=[hook("grep -q xyzzy && { echo 'no secrets' >&2; exit 2; } || exit 0")])
    with raw_host(tmp_path, says("hello"), flags=flags) as host:
        host.prompt("say xyzzy")
        blocked = host.result()
        assert (blocked["subtype"], blocked["is_error"], host.bodies()) == ("success", False, [])
        told = next(line for line in host.lines if line.get("subtype") == "informational")
        assert "no secrets" in told["content"]
        host.prompt("plain")
        assert host.result()["result"] == "hello"
        assert "xyzzy" not in json.dumps(host.bodies())


def test_hooks_at_the_start_give_the_model_context_and_commands_variables(tmp_path: Path) -> None:
    command = 'echo \'export FROM_HOOK="a b"\' >> "$CLAUDE_ENV_FILE"; echo remember this'
    flags = settings(SessionStart=[hook(command, "startup")])
    show = ("Bash", {"command": "printenv FROM_HOOK"})
    with raw_host(tmp_path, calls(show), says("ok"), flags=(*flags, "--allowedTools", "Bash")) as host:
        host.prompt("go")
        host.result()
        assert [line.get("subtype") for line in host.lines[:3]] == ["hook_started", "hook_response", "init"]
        assert host.lines[1]["stdout"] == "remember this\n"
        assert "SessionStart:startup hook success: remember this" in json.dumps(host.bodies()[0]["messages"][0])
        assert host.last_results() == ["a b"]


def test_hooks_of_a_plugin_know_its_folder_and_are_shown_on_request(tmp_path: Path) -> None:
    plugin = tmp_path / "my-plugin"
    (plugin / "hooks").mkdir(parents=True)
    (plugin / "note.sh").write_text(f'echo "$CLAUDE_PLUGIN_ROOT $CLAUDE_PROJECT_DIR" > {tmp_path}/seen\n')
    hooks = {"PreToolUse": [hook('sh "${CLAUDE_PLUGIN_ROOT}/note.sh"')]}
    (plugin / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    flags = ("--plugin-dir", str(plugin), "--include-hook-events")
    with raw_host(tmp_path, calls(ECHO), says("ok"), flags=flags) as host:
        host.prompt("go")
        host.result()
        shown = [line["hook_name"] for line in host.lines if line.get("subtype") == "hook_response"]
        assert shown == ["PreToolUse:Bash"]
        assert (tmp_path / "seen").read_text() == f"{plugin} {host.workspace}\n"


@pytest.mark.parametrize("is_trusted", [False, True])
def test_hooks_of_a_repository_run_only_after_trust(tmp_path: Path, is_trusted: bool) -> None:
    workspace = tmp_path / "workspace"
    (workspace / ".claude").mkdir(parents=True)
    hooks = {"hooks": {"SessionStart": [hook(f"touch {tmp_path}/ran")]}}
    (workspace / ".claude" / "settings.json").write_text(json.dumps(hooks))
    variables = {"BRIDLE_TRUST_PROJECT": "1"} if is_trusted else {}
    with raw_host(tmp_path, says("ok"), environment=variables) as host:
        host.prompt("go")
        host.result()
    assert (tmp_path / "ran").exists() == is_trusted


def test_callbacks_of_a_host_decide_like_commands(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(ECHO), calls(ECHO), says("ok"), says("really")) as host:
        register(
            host,
            PreToolUse=[{"matcher": "Bash", "hookCallbackIds": ["before"]}],
            Stop=[{"hookCallbackIds": ["stop"]}],
        )
        host.prompt("go")
        asked = host.asked("hook_callback")
        assert (asked["callback_id"], asked["input"]["tool_name"]) == ("before", "Bash")
        specific = {"permissionDecision": "deny", "permissionDecisionReason": "first not"}
        host.respond(asked["request_id"], {"hookSpecificOutput": specific})
        host.respond(host.asked("hook_callback")["request_id"], {})
        host.respond(host.asked("hook_callback")["request_id"], {"decision": "block", "reason": "once more"})
        last = host.asked("hook_callback")
        assert (last["callback_id"], last["input"]["stop_hook_active"]) == ("stop", True)
        host.respond(last["request_id"], {})
        assert host.result()["result"] == "really"
        assert host.last_results() == ["first not", "ran"]


@pytest.mark.parametrize(("on_failure", "results"), [("allow", "ran"), ("block", "PreToolUse:Bash hook error")])
def test_a_callback_that_fails_blocks_only_where_that_was_asked_for(
    tmp_path: Path, on_failure: str, results: str
) -> None:
    with raw_host(tmp_path, calls(ECHO), says("ok")) as host:
        register(host, PreToolUse=[{"hookCallbackIds": ["h"], "onFailure": on_failure}])
        host.prompt("go")
        host.fail(host.asked("hook_callback")["request_id"], "the callback raised")
        host.result()
        assert results in host.last_results()[0]


def test_a_call_whose_callback_does_not_answer_in_time_does_not_run(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(("Bash", {"command": "echo ran; touch ran"})), says("ok")) as host:
        register(host, PreToolUse=[{"hookCallbackIds": ["h"], "timeout": 0.1}])
        host.prompt("go")
        host.result()
        assert host.last_results() == ["PreToolUse:Bash hook error: [h]: no answer within 0.1 s"]
        assert not (host.workspace / "ran").exists()


def test_a_prompt_whose_callback_does_not_answer_in_time_never_reaches_the_model(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("unused")) as host:
        register(host, UserPromptSubmit=[{"hookCallbackIds": ["h"], "timeout": 0.1}])
        host.prompt("go")
        host.result()
        assert host.bodies() == []


def test_a_callback_after_a_call_that_does_not_answer_in_time_changes_nothing(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(ECHO), says("ok")) as host:
        register(host, PostToolUse=[{"hookCallbackIds": ["h"], "timeout": 0.1}])
        host.prompt("go")
        assert host.result()["result"] == "ok"
        assert host.last_results() == ["ran"]


def test_a_host_that_leaves_does_not_hang_its_hooks(tmp_path: Path) -> None:
    with raw_host(tmp_path, calls(ECHO), says("ok")) as host:
        register(host, PreToolUse=[{"hookCallbackIds": ["h"]}], Stop=[{"hookCallbackIds": ["s"]}])
        host.prompt("go")
        host.asked("hook_callback")
        host.close_input()
        assert host.result()["result"] == "ok"
        assert host.end() == 0


def test_a_hook_reads_one_line_of_json_whatever_the_model_sent(tmp_path: Path) -> None:
    check = f"{sys.executable} -c 'import json,sys; json.loads(sys.stdin.readline()); sys.exit(bool(sys.stdin.read()))'"
    odd = ("Bash", {"command": "echo ran # \u2028 \ud83d\ude00 \x01 </script>\nexit 0"})
    with raw_host(
        tmp_path, calls(odd), says("ok"), flags=(*settings(PreToolUse=[hook(f"{check} || exit 2")]),)
    ) as host:
        host.prompt("go")
        host.result()
        assert "hook error" not in host.last_results()[0]
