"""The answer to `initialize`."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fixtures.raw_host import calls, raw_host, says


def test_a_host_learns_about_the_session_before_the_first_prompt(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("unused")) as host:
        host.request("1", subtype="initialize", hooks=None)
        answer = host.response("1")["response"]
        assert answer["pid"] == host.process.pid
        assert [model["value"] for model in answer["models"]][:2] == ["default", "sonnet"]
        assert answer["account"]["apiKeySource"] == "ANTHROPIC_API_KEY"
        assert "hooks_applied" not in answer
        assert [command["name"] for command in answer["commands"]] == ["compact", "context"]
        assert all(command["description"] for command in answer["commands"])
        assert host.end() == 0


def test_prompts_of_the_host_reach_the_model(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("one")) as host:
        host.request("1", subtype="initialize", systemPrompt=["You count.", "Only."], appendSystemPrompt="From one.")
        host.prompt("a")
        host.result()
        system = host.bodies()[0]["system"][-1]["text"]
        assert system.startswith("You count.\nOnly.")
        assert "From one." in system


def test_a_host_that_comes_back_learns_what_it_has_not_answered(tmp_path: Path) -> None:
    flags = ("--permission-prompt-tool", "stdio")
    with raw_host(tmp_path, calls(("Bash", {"command": "touch x"})), says("done"), flags=flags) as host:
        host.request("1", subtype="initialize", hooks=None)
        assert "pending_permission_requests" not in host.response("1")
        host.prompt("go")
        asked = host.asked("can_use_tool")
        host.request("2", subtype="initialize", hooks=None)
        (pending,) = host.response("2")["pending_permission_requests"]
        assert pending["request_id"] == asked["request_id"]
        assert pending["request"]["input"] == {"command": "touch x"}
        host.respond(asked["request_id"], {"behavior": "allow"})
        assert host.result()["permission_denials"] == []
        host.request("3", subtype="initialize", hooks=None)
        assert host.response("3")["pending_permission_requests"] == []
