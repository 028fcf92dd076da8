"""Hosts that answer requests: callbacks of hooks and permissions together, answers that are wrong, and none."""

from __future__ import annotations

import json
from typing import Any

from tests.real.side_by_side.scenario import (
    Answer,
    AwaitEvent,
    AwaitFile,
    Close,
    Respond,
    Scenario,
    Send,
    Step,
    call,
    calls,
    control,
    dialogue,
    message,
    says,
)

STDIO = ("--permission-prompt-tool", "stdio")
BASH = ("--allowedTools", "Bash")
SETTINGS = "<home>/.claude/settings.json"
TOUCH = calls("Bash", command="touch one")
DONE = says("Done.")
AGENT = call("Agent", description="d", prompt="sub task", subagent_type="general-purpose")
QUESTION = {
    "question": "Which?",
    "header": "h",
    "multiSelect": False,
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
}
RESULT = AwaitEvent("result")
INTERRUPT = control("i", subtype="interrupt")
NO = {"behavior": "deny", "message": "no"}


def registers(*events: str, request_id: str = "init") -> tuple[Step, ...]:
    """The host initializes the session, with a callback for each of these events."""
    hooks = {event: [{"matcher": None, "hookCallbackIds": [f"on_{event}"]}] for event in events}
    return control(request_id, subtype="initialize", hooks=hooks), AwaitEvent("control_response")


def hook(event: str, **fields: Any) -> Respond:
    """The host answers the callback of an event."""
    return Respond({"hookSpecificOutput": {"hookEventName": event, **fields}}, about=event)


def decides(response: dict[str, Any], number: int = 1) -> Respond:
    """The host answers a permission request."""
    return Respond(response, number, about="can_use_tool")


def allows(**arguments: Any) -> Respond:
    """The host allows a call with these arguments."""
    return decides({"behavior": "allow", "updatedInput": arguments})


def hosts(
    name: str, *steps: Step, script: tuple[Answer, ...] = (TOUCH, DONE), more: tuple[str, ...] = STDIO, **fields: Any
) -> Scenario:
    return Scenario(name, (dialogue(*steps, more=more),), script, **fields)


BEFORE = registers("PreToolUse")
GO = message("go")
AGAIN = (RESULT, message("two"), AwaitEvent("result", 2))

SCENARIOS = (
    hosts(
        "a hook changes a call and the host changes it again",
        *registers("PreToolUse", "PostToolUse"),
        GO,
        hook(
            "PreToolUse",
            permissionDecision="ask",
            permissionDecisionReason="sure",
            updatedInput={"command": "touch hooked"},
        ),
        allows(command="touch hosted"),
        Respond({}, about="PostToolUse"),
        RESULT,
    ),
    hosts(
        "a hook changes a call and the host keeps it",
        *BEFORE,
        GO,
        hook("PreToolUse", updatedInput={"command": "touch hooked"}),
        allows(),
        RESULT,
    ),
    hosts(
        "a hook changes a call that is denied then",
        *BEFORE,
        GO,
        hook("PreToolUse", updatedInput={"command": "touch hooked"}),
        RESULT,
        more=("--allowedTools", "Bash(touch one)"),
    ),
    hosts(
        "a hook asks about a call that needs approval",
        *BEFORE,
        GO,
        hook("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure"),
        RESULT,
        more=(),
    ),
    hosts(
        "a hook asks without a reason", *BEFORE, GO, hook("PreToolUse", permissionDecision="ask"), decides(NO), RESULT
    ),
    hosts(
        "a hook asks without a reason and without a host",
        *BEFORE,
        GO,
        hook("PreToolUse", permissionDecision="ask"),
        RESULT,
        more=(),
    ),
    hosts(
        "a hook asks about a call that a rule asks about",
        *BEFORE,
        GO,
        hook("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure"),
        decides(NO),
        RESULT,
        files={SETTINGS: json.dumps({"permissions": {"ask": ["Bash(touch *)"]}})},
    ),
    hosts(
        "a hook with arguments that the tool does not take",
        *BEFORE,
        GO,
        hook("PreToolUse", permissionDecision="allow", updatedInput={}),
        RESULT,
    ),
    hosts(
        "a hook and the host add arguments of their own",
        *BEFORE,
        GO,
        hook("PreToolUse", permissionDecision="ask", updatedInput={"command": "touch x", "mine": 1}),
        allows(command="touch y", mine=1),
        RESULT,
    ),
    hosts("a host with arguments that the tool does not take", GO, allows(cmd=3), RESULT),
    hosts("a host that reports an error", GO, Respond({}, about="can_use_tool", error="boom"), RESULT),
    hosts("a host allows without arguments", GO, decides({"behavior": "allow"}), RESULT),
    hosts(
        "what a host is shown of a call",
        GO,
        *(decides(NO, number) for number in range(1, 5)),
        RESULT,
        script=(
            calls("Write", file_path="<workspace>/sub/deep/a.txt", content="x"),
            calls("Write", file_path="/etc/not-there.txt", content="x"),
            calls("Read", file_path="/etc/hostname"),
            calls("WebFetch", url="http://example.com/", prompt="p"),
            DONE,
        ),
    ),
    hosts(
        "a host that initializes again while it is asked",
        *registers(),
        GO,
        AwaitEvent("control_request"),
        control("again", subtype="initialize"),
        AwaitEvent("control_response", 2),
        decides(NO),
        RESULT,
    ),
    hosts(
        "an interrupt while a hook before a call runs", *BEFORE, GO, AwaitEvent("control_request"), INTERRUPT, *AGAIN
    ),
    hosts(
        "an interrupt while a hook after a call runs",
        *registers("PostToolUse"),
        GO,
        AwaitEvent("control_request"),
        INTERRUPT,
        *AGAIN,
        more=BASH,
    ),
    hosts(
        "an interrupt while a hook at the end runs",
        *registers("Stop"),
        GO,
        AwaitEvent("control_request"),
        INTERRUPT,
        RESULT,
        message("two"),
        Respond({}, 2),
        AwaitEvent("result", 2),
        script=(says("One."), says("Two.")),
    ),
    hosts(
        "an interrupt while a hook of a sub-agent runs",
        *BEFORE,
        GO,
        Respond({}),
        AwaitEvent("control_request", 2),
        INTERRUPT,
        *AGAIN,
        script=({"blocks": [AGENT]}, TOUCH, says("Two.")),
    ),
    hosts(
        "an interrupt while a sub-agent asks the host",
        GO,
        AwaitEvent("control_request"),
        INTERRUPT,
        *AGAIN,
        script=({"blocks": [AGENT]}, TOUCH, says("Two.")),
    ),
    hosts(
        "a sub-agent that the host stops while it asks",
        GO,
        AwaitEvent("control_request"),
        control("s", subtype="stop_task", task_id="<task-1>"),
        RESULT,
        script=({"blocks": [AGENT]}, TOUCH, says("Without.")),
    ),
    hosts(
        "a sub-agent that the host stops while its command runs",
        GO,
        AwaitFile("began"),
        control("s", subtype="stop_task", task_id="<task-1>"),
        RESULT,
        script=({"blocks": [AGENT]}, calls("Bash", command="touch began; sleep 60"), says("Without.")),
        more=BASH,
    ),
    hosts("a host that leaves before a hook answers", *BEFORE, GO, AwaitEvent("control_request"), Close(), more=BASH),
    hosts(
        "a host that leaves while hooks hold the end",
        *registers("Stop"),
        GO,
        AwaitEvent("control_request"),
        Close(),
        script=(DONE,),
    ),
    hosts(
        "a host that leaves while hooks hold a prompt",
        *registers("UserPromptSubmit"),
        GO,
        AwaitEvent("control_request"),
        Close(),
        script=(DONE,),
    ),
    hosts(
        "hooks of a host that reports errors",
        *BEFORE,
        GO,
        Respond({}, about="PreToolUse", error="boom"),
        RESULT,
        more=BASH,
    ),
    hosts(
        "requests with ids and forms that hosts rarely use",
        Send('{"type":"control_request","request_id":7,"request":{"subtype":"mcp_status"}}'),
        AwaitEvent("control_response"),
        Send('{"type":"control_request","request_id":"a","request":[]}'),
        AwaitEvent("control_response", 2),
        Send('{"type":"control_request","request_id":"b","request":{}}'),
        AwaitEvent("control_response", 3),
        GO,
        RESULT,
        script=(DONE,),
    ),
    hosts(
        "questions that the host leaves without an answer",
        GO,
        allows(),
        RESULT,
        script=(calls("AskUserQuestion", questions=[QUESTION]), DONE),
    ),
    hosts(
        "a first message without a block",
        Send('{"type":"user","message":{"role":"user","content":[]}}'),
        *AGAIN,
        script=(says("First."), says("Second.")),
    ),
    hosts(
        "half of a character",
        Send('{"type":"user","message":{"role":"user","content":"half \\ud83d of one"}}'),
        RESULT,
        script=(DONE,),
    ),
)
