"""Skills from outside: what the turn is like in which one is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.fixtures.raw_host import Line, calls, raw_host, says

HAIKU, OPUS = "claude-haiku-4-5-20251001", "claude-opus-4-8"


def put(folder: Path, path: str, text: str) -> None:
    """Write a file of the user's configuration."""
    target = folder / "home" / ".claude" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def of_type(lines: list[Line], subtype: str) -> list[Line]:
    return [line for line in lines if line.get("subtype") == subtype]


@pytest.mark.parametrize("path", ["skills/s/SKILL.md", "commands/s.md"])
def test_the_model_of_a_skill_is_that_of_the_turn_in_which_the_user_calls_it(path: str, tmp_path: Path) -> None:
    put(tmp_path, path, "---\ndescription: d\nmodel: haiku\n---\nDo it\n")
    with raw_host(tmp_path, calls(("Bash", {"command": "echo"})), says("One."), says("Two.")) as host:
        for prompt in ("/s", "more"):
            host.prompt(prompt)
            host.result()
        assert [body["model"] for body in host.bodies()] == [HAIKU, HAIKU, OPUS]
        assert host.end() == 0
    assert [line["model"] for line in of_type(host.lines, "init")] == [HAIKU, f"{OPUS}[1m]"]


def test_a_model_that_the_host_sets_during_the_turn_of_a_skill_stays(tmp_path: Path) -> None:
    put(tmp_path, "skills/s/SKILL.md", "---\ndescription: d\nmodel: haiku\n---\nDo it\n")
    slow = calls(("Bash", {"command": "until test -e go; do read -t 0.05 <> <(:); done"}))
    with raw_host(tmp_path, slow, says("One."), says("Two."), flags=("--allowedTools", "Bash")) as host:
        host.prompt("/s")
        host.until(lambda line: line["type"] == "assistant")
        host.request("1", subtype="set_model", model="sonnet")
        host.response("1")
        (host.workspace / "go").touch()
        host.result()
        host.prompt("more")
        host.result()
        assert [body["model"] for body in host.bodies()] == [HAIKU, "claude-sonnet-5", "claude-sonnet-5"]


@pytest.mark.parametrize(("model", "shown"), [("haiku", HAIKU), ("opus", OPUS), ("inherit", None)])
def test_a_skill_that_the_model_calls_names_its_model_in_full_and_does_not_change_it(
    model: str, shown: str | None, tmp_path: Path
) -> None:
    put(tmp_path, "skills/s/SKILL.md", f"---\ndescription: d\nmodel: {model}\n---\nDo it\n")
    with raw_host(tmp_path, calls(("Skill", {"skill": "s"})), says("Done.")) as host:
        host.prompt("go")
        host.result()
        assert {body["model"] for body in host.bodies()} == {OPUS}
        assert host.end() == 0
    [detail] = [line["tool_use_result"] for line in host.lines if "tool_use_result" in line]
    assert detail.get("model") == shown
