"""Calls that the host defers, and messages that want no answer."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fixtures.raw_host import RawHost, calls, raw_host, says

DEFER = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}


def tell(host: RawHost, text: str) -> None:
    """Send a message that wants no answer."""
    host.send({"type": "user", "message": {"role": "user", "content": text}, "shouldQuery": False})


def test_a_deferred_call_ends_the_turn_and_does_not_run(tmp_path: Path) -> None:
    answers = calls(("Bash", {"command": "touch one"})), says("two")
    with raw_host(tmp_path, *answers, flags=("--allowedTools", "Bash")) as host:
        host.request("i", subtype="initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["before"]}]})
        host.prompt("go")
        host.respond(host.asked("hook_callback")["request_id"], DEFER)
        result = host.result()
        assert (result["stop_reason"], result["is_error"]) == ("tool_deferred", False)
        assert result["deferred_tool_use"]["input"] == {"command": "touch one"}
        assert not (host.workspace / "one").exists()
        host.prompt("next")
        assert host.result()["result"] == "two"
        assert "did not run" in host.last_results()[0]


def test_messages_that_want_no_answer_are_read_with_the_next_prompt(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("one")) as host:
        tell(host, "first")
        tell(host, "second")
        assert [host.result()["num_turns"], host.result()["result"]] == [0, ""]
        assert host.bodies() == []
        host.prompt("now")
        assert host.result()["result"] == "one"
        said = [block["text"] for block in host.bodies()[0]["messages"][0]["content"]]
        assert said[-3:] == ["first\n", "second\n", "now"]
