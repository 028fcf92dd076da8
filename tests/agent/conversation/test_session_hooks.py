"""Hooks of a session from outside: what they add to a slash command, and when they run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from tests.agent.fixtures.raw_host import calls, raw_host, says


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


def test_a_folder_that_is_left_while_the_answer_still_comes_has_changed(tmp_path: Path) -> None:
    table = {"CwdChanged": [{"hooks": [{"type": "command", "command": "cat > ../given"}]}]}
    (tmp_path / "workspace/sub").mkdir(parents=True)
    slow = calls(("Bash", {"command": "cd sub"}), ("Bash", {"command": "echo " + "long " * 60}))
    flags = ("--allowedTools", "Bash", "--settings", json.dumps({"hooks": table}))
    with raw_host(tmp_path, {**slow, "token_delay_seconds": 0.02}, says("Done."), flags=flags) as host:
        host.prompt("go")
        host.result()
        assert host.end() == 0
    given = json.loads((tmp_path / "given").read_text())
    assert (given["old_cwd"], given["new_cwd"]) == (str(host.workspace), str(host.workspace / "sub"))
