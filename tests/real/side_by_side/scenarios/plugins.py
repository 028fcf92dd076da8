"""Plugins: where a manifest puts their parts, and manifests that are not valid. What skills allow; names of agents."""

from __future__ import annotations

import json
from typing import Any

from tests.real.side_by_side.scenario import AwaitEvent, Scenario, Start, call, calls, dialogue, message, prompt, says
from tests.real.side_by_side.scenarios.mcp import RAW_SERVER

DOCUMENT = "---\nname: {0}\ndescription: about {0}\n---\nDo {0} with $ARGUMENTS\n"
NAMES = ("one", "two", "three", "four")
PARTS = {
    "commands/one.md": DOCUMENT.format("one"),
    "agents/two.md": DOCUMENT.format("two"),
    "skills/three/SKILL.md": DOCUMENT.format("three"),
    "other/four.md": DOCUMENT.format("four"),
}
OTHER_PLACES = {
    "name": "plug",
    "commands": ["./other", "./single.md"],
    "agents": ["./other/four.md"],
    "skills": "./more",
    "mcpServers": ["./servers.json", {"inner": {**RAW_SERVER, "args": [*RAW_SERVER["args"], "inner"]}}],
    "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo INNER >>hooked"}]}]},
}
NOT_VALID: tuple[Any, ...] = (
    "{nope",
    "[1]",
    "{}",
    '{"name": "my plugin"}',
    '{"name": "p", "author": "me", "version": 1}',
    '{"name": "p", "commands": "../outside"}',
    '{"name": "p", "agents": "./agents"}',
)
ALLOWS = "---\ndescription: allows\nallowed-tools: Bash(touch *)\n---\nDo it\n"
WITH_MODEL = "---\ndescription: has a model\nmodel: {}\n---\nDo it with $ARGUMENTS\n"
TOUCH = calls("Bash", command="touch made")
EXPLORE = {"blocks": [call("Agent", description="d", prompt="look", subagent_type="explore")]}


def plugin(folder: str, manifest: str, **more: str) -> dict[str, str]:
    """Return the files of a plugin."""
    files = {f"{folder}/{name}": text for name, text in {**PARTS, **more}.items()}
    return {**files, f"{folder}/.claude-plugin/plugin.json": manifest}


def of_plugin(folder: str, **files: str) -> dict[str, str]:
    """Return the files of a plugin that has these only."""
    manifest = json.dumps({"name": {"p": "plug"}.get(folder, f"plug-{folder}")})
    return {
        f"{folder}/.claude-plugin/plugin.json": manifest,
        **{f"{folder}/{name}": text for name, text in files.items()},
    }


def start(text: str, *folders: str) -> Start:
    """Return a start with these plugins."""
    return prompt(text, *(word for folder in folders for word in ("--plugin-dir", folder)))


SCENARIOS = (
    Scenario(
        "a plugin with other places",
        (start("go", "p"), start("/plug:four a b", "p"), start("/plug:single c", "p"), start("/plug:five", "p")),
        otherwise=says("Done."),
        files={
            **plugin("p", json.dumps(OTHER_PLACES)),
            "p/single.md": DOCUMENT.format("single"),
            "p/more/five/SKILL.md": DOCUMENT.format("five"),
            "p/servers.json": json.dumps({"mcpServers": {"outer": RAW_SERVER}}),
        },
    ),
    Scenario(
        "plugins that are not valid",
        (start("go", *(f"p{place}" for place, _ in enumerate(NOT_VALID))),),
        (says("Done."),),
        files={
            name: text
            for place, manifest in enumerate(NOT_VALID)
            for name, text in plugin(f"p{place}", manifest).items()
        },
    ),
    Scenario(
        "a plugin that names what is not there",
        (start("go", "p", "file"),),
        (says("Done."),),
        files={**plugin("p", '{"name": "plug", "commands": "./none", "skills": "./gone"}'), "file": "text"},
    ),
    Scenario(
        "a command of the user allows tools in its turn",
        (dialogue(message("/s"), AwaitEvent("result"), message("more"), AwaitEvent("result", 2)),),
        (TOUCH, says("One."), TOUCH, says("Two.")),
        files={"<home>/.claude/commands/s.md": ALLOWS},
    ),
    Scenario(
        "a skill of a plugin that the model calls allows nothing",
        (prompt("go", "--plugin-dir", "p", "--allowedTools", "Skill(plug:s)"),),
        (calls("Skill", skill="plug:s"), TOUCH, says("Done.")),
        files={"p/skills/s/SKILL.md": ALLOWS, "p/.claude-plugin/plugin.json": '{"name": "plug"}'},
    ),
    Scenario(
        "a skill that allows tools needs approval",
        (prompt("go"), prompt("go", "--permission-mode", "dontAsk")),
        (calls("Skill", skill="s"), TOUCH, says("Done."), calls("Skill", skill="s"), says("Done.")),
        files={"<home>/.claude/skills/s/SKILL.md": ALLOWS},
    ),
    Scenario(
        "a plugin that is a skill",
        (start("go", "p", "q", "r", "s"), start("/plug:top x", "p")),
        otherwise=says("Done."),
        files={
            **of_plugin("p", **{"SKILL.md": DOCUMENT.format("top")}),
            **of_plugin("q", **{"SKILL.md": "---\ndescription: no name\n---\nDo it\n"}),
            **of_plugin("r", **{"SKILL.md": DOCUMENT.format("top"), "skills/in/SKILL.md": DOCUMENT.format("in")}),
            "s/SKILL.md": DOCUMENT.format("a b/c"),
        },
    ),
    Scenario(
        "a skill of the user with a model",
        (
            dialogue(message("/s a"), AwaitEvent("result"), message("more"), AwaitEvent("result", 2)),
            prompt("go"),
            prompt("/t"),
        ),
        (
            *(calls("Bash", command="echo"), says("One."), says("Two.")),
            *(calls("Skill", skill="s"), says("Called."), says("Three.")),
        ),
        files={
            "<home>/.claude/skills/s/SKILL.md": WITH_MODEL.format("haiku"),
            "<home>/.claude/commands/t.md": WITH_MODEL.format("opus"),
        },
    ),
    Scenario(
        "a sub-agent without a prompt",
        (prompt("go"),),
        (
            {"blocks": [call("Agent", description="d", prompt="", subagent_type="general-purpose")]},
            says("Sub."),
            says("Done."),
        ),
    ),
    Scenario(
        "names that are almost right",
        (prompt("/greetin"), prompt("/greeti"), prompt("/qu"), prompt("/pp:greetings"), prompt("go"), prompt("go")),
        (calls("Skill", skill="xyeetings"), says("One."), calls("Skill", skill="xyzetings"), says("Two.")),
        files={f"<home>/.claude/skills/{name}/SKILL.md": DOCUMENT.format(name) for name in ("greetings", "quux")},
    ),
    Scenario(
        "an agent in other letters",
        (prompt("go"),),
        (EXPLORE, says("Seen."), says("Done.")),
    ),
    Scenario(
        "a denied agent in other letters",
        (prompt("go", "--disallowedTools", "Agent(Explore)"),),
        (EXPLORE, says("Done.")),
    ),
)
