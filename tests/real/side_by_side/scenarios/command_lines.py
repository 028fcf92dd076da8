"""Command lines that programs get wrong: each is refused, or means what it means in the real one."""

from __future__ import annotations

from tests.real.side_by_side.scenario import DIALOGUE, STREAM, Scenario, Send, Start, says

GO = ("-p", "go")
ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"
FINE = says("Fine.", times="forever")


def refused(name: str, *lines: tuple[str, ...]) -> Scenario:
    return Scenario(name, tuple(Start(line) for line in lines), (FINE,), files={"a.txt": "words\n"})


SCENARIOS = (
    refused(
        "formats that do not fit together",
        (*GO, "--output-format", "stream-json"),
        (*GO, "--input-format", "stream-json", "--output-format", "json"),
        (*GO, "--include-partial-messages"),
        (*GO, "--include-partial-messages", "--output-format", "json"),
        (*GO, "--replay-user-messages"),
        (*STREAM, "go", "--replay-user-messages"),
        (*GO, "--input-format", "xml"),
        (*GO, "--output-format=", "--verbose"),
        ("--output-format", "stream-json", "--verbose", "--input-format", "text", "go"),
    ),
    refused(
        "a prompt beside messages on stdin",
        (*DIALOGUE, "go"),
        ("--output-format", "json", "go"),
        ("--print", "--output-format", "json", "--include-hook-events", "go"),
    ),
    refused(
        "flags without their value",
        *((*GO, flag) for flag in ("--model", "--max-turns", "--settings", "--session-id", "--resume-session-at")),
        *((*GO, flag) for flag in ("--setting-sources", "--json-schema", "--permission-prompt-tool", "--resume", "-r")),
        *((*GO, flag) for flag in ("--add-dir", "--tools", "--allowedTools", "--betas", "--mcp-config")),
    ),
    refused(
        "flags with a value that they do not take",
        (*STREAM, "go", "--verbose=yes"),
        (*STREAM, "go", "--fork-session=true"),
        (*STREAM, "go", "-z"),
        (*STREAM, "go", "-dc"),
        (*STREAM, "go", "--permission-mode="),
    ),
    refused(
        "ids of sessions that cannot be",
        (*STREAM, "go", "--session-id", ONE.upper()),
        (*STREAM, "go", "--session-id", ""),
        (*STREAM, "go", "--resume", ""),
        (*STREAM, "go", "--resume", "no title of any session"),
        (*STREAM, "go", "--resume", TWO, "--continue"),
        (*STREAM, "go", "--continue", "--session-id", TWO),
        (*STREAM, "go", "--fork-session"),
        (*STREAM, "go", "--fork-session", "--session-id", TWO),
        (*STREAM, "go", "--continue", "--resume"),
    ),
    refused(
        "numbers that are none",
        *((*STREAM, "go", "--max-turns", value) for value in ("0", "-1", "1.5", "")),
        *((*STREAM, "go", "--max-budget-usd", value) for value in ("0", "-1", "")),
        *((*STREAM, "go", "--max-thinking-tokens", value) for value in ("0", "-1", "zzz")),
        *((*STREAM, "go", "--task-budget", value) for value in ("zzz", "0", "5000")),
    ),
    refused(
        "choices that are not known",
        (*STREAM, "go", "--effort", ""),
        (*STREAM, "go", "--thinking", "zzz"),
        (*STREAM, "go", "--thinking-display", "zzz"),
        (*STREAM, "go", "--thinking-display", "omitted"),
        (*STREAM, "go", "--model", "default"),
        (*STREAM, "go", "--agent", "nobody"),
        (*STREAM, "go", "--agents", "{nonsense"),
        (*STREAM, "go", "--agents", "[]"),
        (*STREAM, "go", "--agents", '{"a":{}}'),
    ),
    refused(
        "betas",
        (*STREAM, "go", "--betas", "context-1m-2025-08-07"),
        (*STREAM, "go", "--betas", "nothing-2025-01-01"),
        (*STREAM, "go", "--model", "sonnet", "--betas", "context-1m-2025-08-07"),
    ),
    refused(
        "MCP servers and plugins that are not there",
        (*STREAM, "go", "--mcp-config", "{nonsense"),
        (*STREAM, "go", "--mcp-config", "[]"),
        (*STREAM, "go", "--mcp-config", "{}"),
        (*STREAM, "go", "--mcp-config", "/nowhere/mcp.json"),
        (*STREAM, "go", "--plugin-dir", "/nowhere"),
        (*STREAM, "go", "--add-dir", "/nowhere"),
        (*STREAM, "go", "--add-dir", "<workspace>/a.txt"),
        (*STREAM, "go", "--system-prompt-file", "/nowhere"),
        (*STREAM, "go", "--append-system-prompt-file", "/nowhere"),
        (*STREAM, "go", "--system-prompt", "x", "--system-prompt-file", "<workspace>/a.txt"),
        (*STREAM, "go", "--append-system-prompt", "x", "--append-system-prompt-file", "<workspace>/a.txt"),
    ),
    refused(
        "flags that are given twice",
        (*STREAM, "go", "--model", "haiku", "--model", "sonnet"),
        (*STREAM, "one", "two"),
        (*STREAM, "go", "--tools", "Bash", "--tools", "Read"),
        (*STREAM, "go", "--settings", '{"model":"haiku"}', "--settings", '{"env":{"A":"b"}}'),
    ),
    Scenario(
        "flags of clients that change nothing",
        (
            Start(
                (*STREAM, "go", "--prompt-suggestions", "--ide", "--chrome", "--brief"),
            ),
            Start((*DIALOGUE, "--task-budget", "5000"), (Send('{"type":"keep_alive"}'),)),
        ),
        (FINE,),
    ),
)
