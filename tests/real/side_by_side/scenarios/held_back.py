"""What does not lead to a turn: calls that a hook defers, and messages that want no answer."""

from __future__ import annotations

import json
from typing import Any

from tests.real.side_by_side.scenario import (
    AwaitEvent,
    AwaitFile,
    AwaitRequest,
    Respond,
    Scenario,
    Send,
    Start,
    Step,
    call,
    calls,
    control,
    dialogue,
    message,
    prompt,
    says,
)
from tests.real.side_by_side.scenarios.hosts import registers

SETTINGS = "<home>/.claude/settings.json"
BASH = ("--allowedTools", "Bash")
RESULT = AwaitEvent("result")
TOUCH, DONE = calls("Bash", command="touch one"), says("Done.")
DEFER = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "defer",
        "permissionDecisionReason": "later",
    }
}


def settings(**commands: str) -> dict[str, str]:
    """The settings with a command for each of these events."""
    hooks = {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}
    return {SETTINGS: json.dumps({"hooks": hooks})}


# Of the shell commands: a Read is not deferred.
DEFERS_COMMANDS = settings(PreToolUse=f"""grep -q '"Bash"' && echo '{json.dumps(DEFER)}' || true""")


def quiet(number: int) -> Send:
    """A message that wants no answer, with an id."""
    return message(f"quiet {number}", shouldQuery=False, uuid=f"11111111-1111-4111-8111-00000000000{number}")


def sent(name: str, *steps: Step, more: tuple[str, ...] = (), **fields: Any) -> Scenario:
    fields = {"answers": (says("One."), says("Two.")), **fields}
    return Scenario(name, (dialogue(*steps, more=more),), **fields)


SCENARIOS = (
    sent(
        "a host defers a call",
        *registers("PreToolUse"),
        message("go"),
        Respond(DEFER, about="PreToolUse"),
        RESULT,
        message("two"),
        AwaitEvent("result", 2),
        more=BASH,
        answers=(TOUCH, DONE),
    ),
    Scenario("a hook defers a call", (Start(("-p", "go", *BASH)),), (TOUCH, DONE), files=DEFERS_COMMANDS),
    Scenario(
        "a hook defers two calls beside one that runs",
        (prompt("go", *BASH),),
        (
            {
                "blocks": [
                    "Look.",
                    call("Bash", command="touch one"),
                    call("Bash", command="touch two"),
                    call("Read", file_path="<workspace>/a.txt"),
                ]
            },
            DONE,
        ),
        files={**DEFERS_COMMANDS, "a.txt": "x\n"},
    ),
    Scenario(
        "a deferred call and a Stop hook",
        (prompt("go", *BASH),),
        (TOUCH, DONE),
        files=settings(PreToolUse=f"echo '{json.dumps(DEFER)}'", Stop="touch stopped"),
    ),
    sent("a first message that wants no answer", quiet(1), message("one"), RESULT),
    sent(
        "messages that want no answer between two turns",
        message("one"),
        RESULT,
        quiet(1),
        quiet(2),
        message("two"),
        AwaitEvent("result", 4),
        transcript=True,
    ),
    sent(
        "a message that wants no answer while the model is awaited",
        message("one"),
        AwaitRequest(),
        quiet(1),
        RESULT,
        message("two"),
        AwaitEvent("result", 3),
        answers=({"blocks": ["One."], "delay_seconds": 1}, says("Two.")),
    ),
    sent(
        "a message that wants no answer while a tool runs",
        message("one"),
        AwaitFile("began"),
        quiet(1),
        control("m", subtype="mcp_status"),
        AwaitEvent("control_response"),
        RESULT,
        message("two"),
        AwaitEvent("result", 2),
        more=BASH,
        answers=(calls("Bash", command="touch began; sleep 1"), says("One."), says("Two.")),
    ),
    sent("only a message that wants no answer", quiet(1), transcript=True),
    sent(
        "an echo of a message that wants no answer",
        quiet(1),
        RESULT,
        message("one"),
        AwaitEvent("result", 2),
        more=("--replay-user-messages",),
    ),
    sent(
        "a hook for prompts and a message that wants no answer",
        quiet(1),
        RESULT,
        message("one"),
        AwaitEvent("result", 2),
        files=settings(UserPromptSubmit="cat >> prompts"),
    ),
)
