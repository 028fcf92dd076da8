"""Hooks of a prompt: what they add for the model, also where the prompt is a slash command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tests.agent.fixtures.raw_host import raw_host, says


def adds(event: str, text: str) -> list[dict[str, Any]]:
    answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return [{"hooks": [{"type": "command", "command": f"cat >/dev/null; echo {shlex.quote(json.dumps(answer))}"}]}]


def test_the_texts_of_all_hooks_of_a_slash_command_go_to_the_model(tmp_path: Path) -> None:
    commands = tmp_path / "home/.claude/commands"
    commands.mkdir(parents=True)
    (commands / "greet.md").write_text("Say hello")
    events = ("SessionStart", "UserPromptExpansion", "UserPromptSubmit")
    table = {event: adds(event, f"added by {event}") for event in events}
    with raw_host(tmp_path, says("Hello."), flags=("--settings", json.dumps({"hooks": table}))) as host:
        host.prompt("/greet bob")
        host.result()
        sent = json.dumps(host.bodies()[0]["messages"])
        assert host.end() == 0
    places = [sent.index(text) for text in ("Say hello", *(f"added by {event}" for event in events))]
    assert places == sorted(places)
