"""Flags that change what a run does, in the combinations that clients use."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.real.side_by_side.scenario import (
    DIALOGUE,
    AwaitEvent,
    Scenario,
    Start,
    call,
    calls,
    dialogue,
    error,
    message,
    prompt,
    says,
)

FINE = says("Fine.", times="forever")
W = "<workspace>"
BASH = ("--allowedTools", "Bash")
ONE = "aaaaaaaa-0000-4000-8000-000000000001"
GATE = Path(__file__).parents[3] / "agent" / "fixtures" / "permission_mcp_server.py"
GATE_SERVER = json.dumps({"mcpServers": {"gate": {"command": sys.executable, "args": [str(GATE)]}}})
GATED = ("--strict-mcp-config", "--mcp-config", GATE_SERVER, "--permission-prompt-tool")
SCHEMA = '{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
THREE = {"blocks": [call("Bash", command=f"echo {number}") for number in (1, 2, 3)]}
OVERLOADED = error(529, times="forever")
WISHES = tuple(
    calls("Bash", command=f"touch {name}.txt") for name in ("allow", "change", "keep", "deny", "words", "odd")
)

SCENARIOS = (
    Scenario(
        "a tool of an MCP server decides", (prompt("go", *GATED, "mcp__gate__decide"),), (*WISHES, says("Tried."))
    ),
    Scenario(
        "a tool of an MCP server decides in a dialogue",
        (dialogue(message("go"), more=(*GATED, "mcp__gate__decide")),),
        (*WISHES[:2], says("Tried.")),
    ),
    Scenario(
        "a tool that is not there decides",
        (prompt("go", *GATED, "mcp__gate__nothing"),),
        (WISHES[0], says("Tried.")),
    ),
    Scenario(
        "no host is there to decide",
        (prompt("go", "--permission-prompt-tool", "stdio"),),
        (WISHES[0], says("Tried.")),
    ),
    Scenario(
        "a host that closes its input decides",
        (dialogue(message("go"), more=("--permission-prompt-tool", "stdio")),),
        (WISHES[0], says("Tried.")),
    ),
    Scenario(
        "three calls of two turns",
        (prompt("go", "--max-turns", "2", *BASH),),
        (THREE, THREE, says("never")),
        any_order=True,
    ),
    Scenario(
        "three calls of four turns",
        (prompt("go", "--max-turns", "4", *BASH),),
        (THREE, calls("Bash", command="echo 4"), calls("Bash", command="echo 5"), says("never")),
        any_order=True,
    ),
    Scenario(
        "another model that is the same",
        (prompt("go", "--model", "sonnet", "--fallback-model", "sonnet"),),
        (FINE,),
    ),
    Scenario(
        "several other models",
        (prompt("go", "--model", "sonnet", "--fallback-model", "opus,haiku", CLAUDE_CODE_MAX_RETRIES="0"),),
        (error(529, times=8), says("Fine.")),
    ),
    Scenario(
        "words beside another system prompt",
        (prompt("go", "--system-prompt", "BE-A-HORSE", "--append-system-prompt", "AND-A-COW"),),
        (FINE,),
        words=("BE-A-HORSE", "AND-A-COW"),
    ),
    Scenario(
        "several folders to work in",
        (
            prompt(
                "go",
                "--add-dir",
                "<home>/one",
                "<home>/two",
                "--add-dir=../home/three",
                "--permission-mode",
                "acceptEdits",
            ),
        ),
        (
            calls("Write", file_path="<home>/one/a.txt", content="x\n"),
            calls("Write", file_path="<home>/two/a.txt", content="x\n"),
            calls("Read", file_path="<home>/three/b.txt"),
            calls("Bash", command="cat <home>/one/b.txt"),
            says("Tried."),
        ),
        files={
            "<home>/one/b.txt": "one\n",
            "<home>/two/b.txt": "two\n",
            "<home>/three/b.txt": "three\n",
            "<home>/one/CLAUDE.md": "NOTE-OF-A-FOLDER\n",
            "<home>/one/.claude/skills/far/SKILL.md": "---\nname: far\ndescription: A-FAR-SKILL\n---\nDo.\n",
        },
        words=("NOTE-OF-A-FOLDER", "A-FAR-SKILL"),
    ),
    Scenario(
        "tools that are forbidden in several ways",
        (
            prompt("go", "--disallowedTools", "Edit,Write", "NotebookEdit", "--disallowedTools=Task"),
            prompt("go", "--disallowedTools", "mcp__x", "Bash(*)"),
            prompt("go", "--disallowedTools", "*"),
            prompt("go", "--tools", "Bash,Read", "--disallowedTools", "Bash"),
            prompt("go", "--tools", "Read", "--allowedTools", "Bash,Grep"),
            prompt("go", "--tools", "Task,TodoWrite,bash"),
            prompt("go", "--tools", "Bash(git *)"),
            prompt("go", "--tools", "default,Grep"),
        ),
        (FINE,),
    ),
    Scenario(
        "tools of MCP servers beside a list of tools",
        (
            prompt("go", *GATED[:3], "--tools", "Read"),
            prompt("go", *GATED[:3], "--tools", ""),
            prompt("go", *GATED[:3], "--tools", "mcp__gate__decide"),
            prompt("go", *GATED[:3], "--disallowedTools", "mcp__gate"),
        ),
        (FINE,),
    ),
    Scenario(
        "data in every form of output",
        (
            Start(("-p", "go", "--json-schema", SCHEMA)),
            Start(("-p", "go", "--json-schema", SCHEMA, "--output-format", "json")),
            Start((*DIALOGUE, "--json-schema", SCHEMA), (message("one"), AwaitEvent("result"), message("two"))),
        ),
        tuple(calls("StructuredOutput", n=number) for number in range(4)),
    ),
    Scenario(
        "sessions that are not kept",
        (
            prompt("one", "--session-id", ONE),
            prompt("two", "--continue", "--no-session-persistence"),
            prompt("three", "--resume", ONE, "--fork-session", "--no-session-persistence"),
            prompt("four", "--continue"),
        ),
        (says("First."), says("Second."), says("Third."), says("Fourth.")),
        transcript=True,
    ),
    Scenario(
        "an agent for the whole session",
        (
            prompt(
                "go",
                "--agent",
                "horse",
                "--agents",
                json.dumps(
                    {"horse": {"description": "A horse", "prompt": "BE-A-HORSE", "tools": ["Read"], "model": "haiku"}}
                ),
            ),
            prompt("go", "--agent", "nobody"),
        ),
        (FINE,),
        words=("BE-A-HORSE",),
    ),
    Scenario(
        "a budget in a dialogue",
        (dialogue(message("one"), AwaitEvent("result"), message("two"), more=("--max-budget-usd", "0.0015")),),
        (says("First."), says("Second."), says("Third.")),
    ),
)
