"""Which settings, hooks, notes, skills, commands and agents count under each `--setting-sources`, and `--settings`."""

from __future__ import annotations

import json

from tests.real.side_by_side.scenario import Scenario, Start, calls, prompt, says

FINE = says("Fine.", times="forever")
TRUSTED = {"<home>/.claude/.claude.json": '{"projects": {"<workspace>": {"hasTrustDialogAccepted": true}}}'}


def hooks(name: str) -> dict[str, object]:
    command = {"type": "command", "command": f"touch <workspace>/hook-of-{name}"}
    return {"UserPromptSubmit": [{"hooks": [command]}]}


def settings(name: str) -> str:
    return json.dumps(
        {
            "permissions": {"allow": [f"Bash(touch {name}*)"], "deny": [f"Bash(rm {name}*)"]},
            "hooks": hooks(name),
            "env": {f"OF_{name.upper()}": "set"},
        }
    )


def skill(name: str) -> str:
    return f"---\nname: skill-of-{name}\ndescription: SKILL-OF-{name.upper()}\n---\nDo.\n"


def agent(name: str) -> str:
    return f"---\nname: agent-of-{name}\ndescription: AGENT-OF-{name.upper()}\n---\nYou are one.\n"


FILES = {
    **TRUSTED,
    "<home>/.claude/settings.json": settings("user"),
    ".claude/settings.json": settings("project"),
    ".claude/settings.local.json": settings("local"),
    "<home>/.claude/CLAUDE.md": "NOTE-OF-USER\n",
    "CLAUDE.md": "NOTE-OF-PROJECT\n",
    "CLAUDE.local.md": "NOTE-OF-LOCAL\n",
    ".claude/rules/one.md": "RULE-OF-PROJECT\n",
    "<home>/.claude/rules/one.md": "RULE-OF-USER\n",
    "<home>/.claude/skills/skill-of-user/SKILL.md": skill("user"),
    ".claude/skills/skill-of-project/SKILL.md": skill("project"),
    "<home>/.claude/commands/of-user.md": "Do.\n",
    ".claude/commands/of-project.md": "Do.\n",
    "<home>/.claude/agents/of-user.md": agent("user"),
    ".claude/agents/of-project.md": agent("project"),
}
WORDS = (
    *(f"NOTE-OF-{name}" for name in ("USER", "PROJECT", "LOCAL")),
    *(f"RULE-OF-{name}" for name in ("USER", "PROJECT")),
    *(f"SKILL-OF-{name}" for name in ("USER", "PROJECT")),
    *(f"AGENT-OF-{name}" for name in ("USER", "PROJECT")),
)
WISHES = (
    calls("Bash", command="touch user1"),
    calls("Bash", command="touch project1"),
    calls("Bash", command="touch local1"),
    calls("Bash", command="printenv OF_USER OF_PROJECT OF_LOCAL"),
    says("Tried."),
)


def sources(name: str, value: str) -> Scenario:
    return Scenario(
        name,
        (prompt("go", f"--setting-sources={value}", "--allowedTools", "Bash(printenv *)"),),
        WISHES,
        files=FILES,
        words=WORDS,
    )


def given(name: str, *values: str, files: dict[str, str] | None = None) -> Scenario:
    starts = tuple(prompt("go", "--settings", value) for value in values)
    return Scenario(name, starts, (FINE,), files=files or {})


SCENARIOS = (
    sources("every source of settings", "user,project,local"),
    sources("only settings of the user", "user"),
    sources("only settings of the project", "project"),
    sources("only local settings", "local"),
    sources("no source of settings", ""),
    Scenario(
        "sources of settings that do not exist",
        (
            prompt("go", "--setting-sources", "nowhere"),
            prompt("go", "--setting-sources", "user,nowhere"),
            prompt("go", "--setting-sources", " user , project "),
            prompt("go", "--setting-sources", "USER"),
            prompt("go", "--setting-sources", ","),
            prompt("go", "--setting-sources", "flag"),
        ),
        (FINE,),
        files=FILES,
        words=WORDS,
    ),
    Scenario(
        "settings of a flag beside no source",
        (prompt("go", "--setting-sources=", "--settings", settings("flag"), "--allowedTools", "Bash(printenv *)"),),
        (calls("Bash", command="touch flag1"), calls("Bash", command="printenv OF_FLAG OF_USER"), says("Tried.")),
        files=FILES,
        words=WORDS,
    ),
    Scenario(
        "settings of a flag in a file",
        (
            prompt("go", "--settings", "<home>/mine.json"),
            prompt("go", "--settings", "mine.json"),
            Start(("-p", "--output-format", "stream-json", "--verbose", "go", "--settings", "mine.json"), folder="sub"),
        ),
        (FINE,),
        files={
            "<home>/mine.json": '{"model": "haiku"}',
            "mine.json": '{"model": "sonnet"}',
            "sub/a.txt": "",
        },
    ),
    given(
        "settings of a flag that are wrong",
        "",
        "[]",
        "{}",
        "5",
        '{"permissions": 5}',
        '{"permissions": {"allow": "Bash"}}',
        '{"permissions": {"allow": [5, "Bash(ls *)"]}}',
        '{"permissions": {"defaultMode": "zzz"}}',
        '{"env": {"A": 5}}',
        '{"hooks": []}',
        '{"model": 5}',
        '{"unknownKey": true}',
        "nothing.json",
        "broken.json",
        files={"broken.json": "{nonsense", "list.json": "[]"},
    ),
    Scenario(
        "the mode and the folders of settings",
        (
            prompt(
                "go",
                "--settings",
                '{"permissions":{"defaultMode":"acceptEdits","additionalDirectories":["<home>/tmp"]}}',
            ),
        ),
        (
            calls("Write", file_path="<home>/tmp/a.txt", content="x\n"),
            calls("Write", file_path="<home>/b.txt", content="x\n"),
            says("Tried."),
        ),
    ),
)
