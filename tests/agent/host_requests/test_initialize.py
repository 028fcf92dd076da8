"""The answer to `initialize`."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fixtures.raw_host import raw_host, says


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
