"""What the model is told and offered: prompts, notes of the project, tools, skills and commands."""

from __future__ import annotations

import json

from tests.real.side_by_side.scenario import Scenario, calls, prompt, says

FINE = says("Fine.", times="forever")
NOTES = {
    "<home>/.claude/CLAUDE.md": "NOTE-OF-THE-USER\n",
    "CLAUDE.md": "NOTE-OF-THE-PROJECT\n\n@docs/more.md\n",
    "docs/more.md": "NOTE-THAT-IS-IMPORTED\n",
    "CLAUDE.local.md": "NOTE-THAT-IS-LOCAL\n",
    "AGENTS.md": "NOTE-FOR-ANYBODY\n",
    "docs/CLAUDE.md": "NOTE-OF-A-FOLDER\n",
}
NOTE_WORDS = tuple(text.split()[0] for text in NOTES.values())
SKILL = "---\nname: greet\ndescription: Greets SOMEBODY-SPECIAL\n---\nSay hello to $ARGUMENTS, from the heart.\n"
COMMAND = "---\ndescription: A command\nargument-hint: [what]\n---\nDo $ARGUMENTS: first $0, then $1.\n"
SKILLS = {".claude/skills/greet/SKILL.md": SKILL, ".claude/commands/mycmd.md": COMMAND}

SCENARIOS = (
    Scenario("notes for the model", (prompt("go"),), (FINE,), files=NOTES, words=NOTE_WORDS),
    Scenario("notes are not wanted", (prompt("go", "--setting-sources", ""),), (FINE,), files=NOTES, words=NOTE_WORDS),
    Scenario(
        "words beside the system prompt",
        (prompt("go", "--append-system-prompt", "SPEAK-LIKE-A-HORSE"),),
        (FINE,),
        words=("SPEAK-LIKE-A-HORSE",),
    ),
    Scenario(
        "words beside the system prompt from a file",
        (prompt("go", "--append-system-prompt-file", "<workspace>/rules.txt"),),
        (FINE,),
        files={"rules.txt": "SPEAK-LIKE-A-HORSE"},
        words=("SPEAK-LIKE-A-HORSE",),
    ),
    Scenario(
        "another system prompt",
        (prompt("go", "--system-prompt", "SPEAK-LIKE-A-HORSE"), prompt("go", "--system-prompt", "")),
        (FINE,),
        words=("SPEAK-LIKE-A-HORSE",),
    ),
    Scenario("no tools", (prompt("go", "--tools", ""),), (FINE,)),
    Scenario("some tools", (prompt("go", "--tools", "Bash,Read"), prompt("go", "--tools=Glob,Grep")), (FINE,)),
    Scenario("the usual tools by name", (prompt("go", "--tools", "default"),), (FINE,)),
    Scenario("fewer tools", (prompt("go", "--disallowedTools", "Bash", "WebFetch", "Read(x)"),), (FINE,)),
    Scenario("tools by older names", (prompt("go", "--tools", "BashOutput,KillShell,Read"),), (FINE,)),
    Scenario("tools that nobody knows", (prompt("go", "--tools", "Read,NoSuchTool"),), (FINE,)),
    Scenario("a bare start", (prompt("go", "--bare"),), (FINE,), files=NOTES, words=NOTE_WORDS),
    Scenario(
        "another system prompt from a file",
        (prompt("go", "--system-prompt-file", "<workspace>/rules.txt"),),
        (FINE,),
        files={"rules.txt": "SPEAK-LIKE-A-HORSE"},
        words=("SPEAK-LIKE-A-HORSE",),
    ),
    Scenario(
        "flags that clients pass",
        (
            prompt(
                "go",
                *("--setting-sources=user,project,local", "--strict-mcp-config", "--mcp-config", '{"mcpServers":{}}'),
                *("--include-hook-events", "--no-chrome", "--name", "a name", "--debug-file", "<home>/debug.txt"),
                *("--allow-dangerously-skip-permissions", "--exclude-dynamic-system-prompt-sections"),
            ),
        ),
        (FINE,),
    ),
    Scenario(
        "a skill",
        (prompt("go"),),
        (calls("Skill", skill="greet", args="Alice"), calls("Skill", skill="nosuch"), says("Greeted.")),
        files=SKILLS,
        words=("SOMEBODY-SPECIAL",),
    ),
    Scenario("a skill as a command", (prompt("/greet Alice"),), (FINE,), files=SKILLS),
    Scenario("a command of the project", (prompt("/mycmd foo bar"),), (FINE,), files=SKILLS),
    Scenario("a command that is not there", (prompt("/nope arg"),), (says("never"),), files=SKILLS),
    Scenario("a path in place of a command", (prompt("/etc/hosts is a file"),), (FINE,)),
    Scenario("no commands", (prompt("/greet Alice", "--disable-slash-commands"),), (FINE,), files=SKILLS),
    Scenario(
        "a helper that gives the key",
        (prompt("go", "--settings", json.dumps({"apiKeyHelper": "echo sk-from-helper"}), ANTHROPIC_API_KEY=None),),
        (FINE,),
    ),
)
