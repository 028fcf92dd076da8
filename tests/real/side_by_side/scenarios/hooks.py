"""Hooks: what they are given, what they decide, and what is printed about them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from tests.real.side_by_side.scenario import (
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

SETTINGS = "<home>/.claude/settings.json"
BASH = calls("Bash", command="echo hi")
DONE = says("Done.")
TO_HOST = ("--permission-prompt-tool", "stdio")

# Writes what a hook is given into a file of the workspace for its event, without the time that a call took.
_DUMP = (
    "import json,sys; o=json.load(sys.stdin); o.update({'duration_ms':0} if 'duration_ms' in o else {}); "
    "open('<workspace>/given-'+o['hook_event_name'],'a').write(json.dumps(o)+chr(10))"
)
DUMP = f'{sys.executable} -c "{_DUMP}"'

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PermissionRequest",
    "CwdChanged",
    "Stop",
    "StopFailure",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
    "Notification",
    "PermissionDenied",
)


def hooks(**events: Any) -> dict[str, str]:
    """The user's settings with these hooks: a command, one hook, or whole groups for each event."""
    return {SETTINGS: json.dumps({"hooks": {event: _groups(value) for event, value in events.items()}})}


def command(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **fields}


def asks(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "prompt", "prompt": text, **fields}


def answers(value: Mapping[str, Any]) -> dict[str, Any]:
    """A hook that prints this."""
    return command(f"cat >/dev/null; echo '{json.dumps(value)}'")


def specific(event: str, **fields: Any) -> dict[str, Any]:
    return answers({"hookSpecificOutput": {"hookEventName": event, **fields}})


def _groups(value: Any) -> list[dict[str, Any]]:
    return value if isinstance(value, list) else [{"hooks": [command(value) if isinstance(value, str) else value]}]


def bash(text: str = "go", *more: str) -> Start:
    return prompt(text, "--allowedTools", "Bash", *more)


def scenario(name: str, files: dict[str, str], *script: dict[str, Any], start: Start | None = None) -> Scenario:
    return Scenario(name, (start or bash(),), script or (BASH, DONE), files=files)


ALL = hooks(**dict.fromkeys(EVENTS, DUMP))
HOST = dialogue(message("go"), AwaitEvent("result"), more=TO_HOST)
TOUCH = calls("Bash", command="touch x")

SCENARIOS = (
    Scenario(
        "what hooks are given",
        (prompt("go", "--allowedTools", "Bash", "Agent", "Write"),),
        (
            {"blocks": ["Looking.", call("Bash", command="echo hi", description="say")]},
            {"blocks": [call("Bash", command="exit 3"), call("Read", file_path="<workspace>/sub/a.txt")]},
            calls("Write", file_path="<workspace>/new.txt", content="x"),
            calls("Bash", command="cd sub"),
            calls("Agent", description="d", prompt="sub task", subagent_type="general-purpose"),
            calls("Bash", command="echo inner"),
            says("Inner done."),
            DONE,
        ),
        files={**ALL, "sub/a.txt": "hello\n"},
    ),
    scenario("what hooks are given about a failure", ALL, error(400, message="no luck"), start=bash()),
    Scenario(
        "what hooks are given by an agent with another model",
        (prompt("go", "--allowedTools", "Bash", "Agent"),),
        (
            calls("Agent", description="d", prompt="sub task", subagent_type="Explore", model="haiku"),
            calls("Bash", command="echo inner"),
            says("Inner done."),
            DONE,
        ),
        files=ALL,
    ),
    scenario("what hooks are given about a denial", ALL, TOUCH, DONE, start=prompt("go")),
    scenario(
        "what hooks are given about a command of the user",
        {**ALL, "<home>/.claude/commands/greet.md": "Say hello to $ARGUMENTS"},
        DONE,
        start=prompt("/greet bob"),
    ),
    scenario(
        "what hooks are given about a compaction",
        ALL,
        says("One."),
        says("Two."),
        says("<summary>They greeted.</summary>"),
        start=dialogue(
            message("one"),
            AwaitEvent("result"),
            message("two"),
            AwaitEvent("result", 2),
            message("/compact keep"),
            AwaitEvent("result", 3),
        ),
    ),
    scenario(
        "what hooks are given about an approval",
        ALL,
        TOUCH,
        DONE,
        start=dialogue(message("go"), AwaitEvent("control_request"), more=TO_HOST),
    ),
    scenario("context before a call", hooks(PreToolUse=specific("PreToolUse", additionalContext="ctx"))),
    scenario("an answer to another event", hooks(PreToolUse=specific("PostToolUse", additionalContext="ctx"))),
    scenario(
        "a hook that shows a message",
        hooks(
            PreToolUse=answers({"systemMessage": "shown", "suppressOutput": True}), Stop=answers({"systemMessage": "s"})
        ),
    ),
    scenario(
        "a hook before a call ends the turn", hooks(PreToolUse=answers({"continue": False, "stopReason": "halt"}))
    ),
    scenario(
        "a hook after a call ends the turn", hooks(PostToolUse=answers({"continue": False, "stopReason": "halt"}))
    ),
    scenario("a hook after a call objects", hooks(PostToolUse=answers({"decision": "block", "reason": "bad"}))),
    scenario("a hook after a call objects by exit code", hooks(PostToolUse="cat >/dev/null; echo no >&2; exit 2")),
    scenario("a hook after a call adds", hooks(PostToolUse=specific("PostToolUse", additionalContext="ctx"))),
    scenario(
        "a hook after a failed call objects",
        hooks(PostToolUseFailure="cat >/dev/null; echo no >&2; exit 2"),
        calls("Bash", command="exit 3"),
        DONE,
    ),
    scenario(
        "a hook replaces an output",
        hooks(
            PostToolUse=specific(
                "PostToolUse", updatedToolOutput={"stdout": "changed", "stderr": "", "interrupted": False}
            )
        ),
    ),
    scenario(
        "a hook replaces the output of a server alone",
        hooks(PostToolUse=specific("PostToolUse", updatedMCPToolOutput="changed")),
    ),
    scenario(
        "a hook changes a call",
        hooks(PreToolUse=specific("PreToolUse", permissionDecision="allow", updatedInput={"command": "echo other"})),
    ),
    scenario(
        "a hook denies a call",
        hooks(PreToolUse=specific("PreToolUse", permissionDecision="deny", permissionDecisionReason="not so")),
    ),
    scenario("a hook denies a call by exit code", hooks(PreToolUse="cat >/dev/null; echo no >&2; exit 2")),
    scenario(
        "a hook wants approval",
        hooks(PreToolUse=specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="look")),
    ),
    scenario(
        "hooks after all calls end the turn", hooks(PostToolBatch=answers({"decision": "block", "reason": "bad"}))
    ),
    scenario(
        "hooks with a rule",
        hooks(
            PreToolUse=[
                {
                    "matcher": "Bash|Read",
                    "hooks": [
                        command("cat >/dev/null; echo git >> <workspace>/ran", **{"if": "Bash(git *)"}),
                        command("cat >/dev/null; echo echo >> <workspace>/ran", **{"if": "Bash(echo *)"}),
                    ],
                }
            ]
        ),
    ),
    scenario(
        "matchers",
        hooks(
            PreToolUse=[
                {
                    "matcher": pattern,
                    "hooks": [command(f"cat >/dev/null; echo '{pattern}' >> '<workspace>/ran-{number}'")],
                }
                for number, pattern in enumerate(
                    ("Bash", "bash", "Ba.*", "^(?!Bash$).*", "Read|Bash", "*", "", "Read, Bash", "B", "[")
                )
            ]
        ),
    ),
    scenario(
        "a hook that is not waited for",
        hooks(
            PreToolUse=command("cat >/dev/null; echo begun > <workspace>/begun; sleep 30", **{"async": True}),
            Stop=command("cat >/dev/null; echo '{\"async\": true}'; sleep 30"),
        ),
        BASH,
        calls("Bash", command="sleep 1; cat begun"),
        DONE,
    ),
    scenario(
        "hooks of programs",
        hooks(
            PreToolUse={
                "type": "command",
                "command": sys.executable,
                "args": ["-c", "open('<workspace>/ran','w').write('a b $HOME')"],
            }
        ),
    ),
    scenario("a hook blocks a prompt", hooks(UserPromptSubmit="cat >/dev/null; echo no >&2; exit 2"), DONE),
    scenario(
        "a hook blocks a prompt by its answer",
        hooks(UserPromptSubmit=answers({"decision": "block", "reason": "no"})),
        DONE,
    ),
    scenario("a hook ends a prompt", hooks(UserPromptSubmit=answers({"continue": False, "stopReason": "halt"})), DONE),
    scenario(
        "a hook blocks a command of the user",
        {
            **hooks(UserPromptExpansion="cat >/dev/null; echo no >&2; exit 2"),
            "<home>/.claude/commands/greet.md": "Say hello",
        },
        DONE,
        start=prompt("/greet bob"),
    ),
    scenario(
        "hooks add context to a command of the user",
        {
            **hooks(
                UserPromptExpansion=specific("UserPromptExpansion", additionalContext="of the command"),
                UserPromptSubmit=specific("UserPromptSubmit", additionalContext="of the prompt"),
            ),
            "<home>/.claude/commands/greet.md": "Say hello",
        },
        DONE,
        start=prompt("/greet bob"),
    ),
    scenario(
        "a hook sends the model back",
        hooks(Stop="cat >/dev/null; [ -e <workspace>/once ] || { touch <workspace>/once; echo more >&2; exit 2; }"),
        says("Half."),
        DONE,
    ),
    scenario(
        "a hook adds at the end",
        hooks(
            Stop=command(
                "cat >/dev/null; [ -e <workspace>/once ] || { touch <workspace>/once; echo '"
                + json.dumps({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "more"}})
                + "'; }"
            )
        ),
        says("Half."),
        DONE,
    ),
    scenario("a hook ends the turn at its end", hooks(Stop=answers({"continue": False, "stopReason": "halt"})), DONE),
    scenario(
        "a hook allows for the host",
        hooks(
            PermissionRequest=specific(
                "PermissionRequest", decision={"behavior": "allow", "updatedInput": {"command": "touch y"}}
            )
        ),
        TOUCH,
        DONE,
        start=HOST,
    ),
    scenario(
        "a hook denies for the host",
        hooks(PermissionRequest=specific("PermissionRequest", decision={"behavior": "deny", "message": "not so"})),
        TOUCH,
        DONE,
        start=HOST,
    ),
    scenario(
        "a hook denies for the host and interrupts",
        hooks(
            PermissionRequest=specific(
                "PermissionRequest", decision={"behavior": "deny", "message": "not so", "interrupt": True}
            )
        ),
        TOUCH,
        DONE,
        start=HOST,
    ),
    scenario(
        "hooks without a host",
        hooks(PermissionRequest=specific("PermissionRequest", decision={"behavior": "allow"})),
        TOUCH,
        DONE,
        start=prompt("go"),
    ),
    scenario(
        "events of hooks",
        hooks(
            PreToolUse="cat >/dev/null; echo out; echo err >&2; exit 1",
            PostToolUse=command("sleep 30", timeout=1),
            PostToolUseFailure="cat >/dev/null; exit 3",
            Stop=answers({"systemMessage": "sm"}),
            SessionEnd="echo bye",
        ),
        BASH,
        calls("Bash", command="exit 4"),
        DONE,
        start=bash("go", "--include-hook-events"),
    ),
    scenario(
        "a condition before a call that is met",
        hooks(PreToolUse=asks("May it?")),
        BASH,
        says('{"ok": true, "reason": "yes"}'),
        DONE,
    ),
    scenario(
        "a condition before a call",
        hooks(PreToolUse=asks("May it? $ARGUMENTS")),
        BASH,
        says('{"ok": false, "reason": "no echo"}'),
        DONE,
    ),
    scenario(
        "a condition after a call",
        hooks(PostToolUse=asks("Fine?")),
        BASH,
        says('{"ok": false, "reason": "no echo"}'),
        DONE,
    ),
    scenario(
        "a condition after a call that continues",
        hooks(PostToolUse=asks("Fine?", continueOnBlock=True)),
        BASH,
        says('{"ok": false, "reason": "no echo"}'),
        DONE,
    ),
    scenario(
        "a condition of a prompt", hooks(UserPromptSubmit=asks("Fine?")), says('{"ok": false, "reason": "bad prompt"}')
    ),
    scenario(
        "a condition at the end",
        hooks(Stop=asks("Done?")),
        says("Half."),
        says('{"ok": false, "reason": "more"}'),
        DONE,
        says('{"ok": true, "reason": "so"}'),
    ),
    scenario(
        "a condition that cannot be met",
        hooks(Stop=asks("Done?")),
        says("Half."),
        says('{"ok": false, "impossible": true, "reason": "never"}'),
    ),
    scenario(
        "a condition at the end of a sub-agent",
        hooks(SubagentStop=asks("Done?")),
        calls("Agent", description="d", prompt="sub task", subagent_type="general-purpose", model="haiku"),
        says("Half."),
        says('{"ok": false, "reason": "more"}'),
        says("All."),
        says('{"ok": true, "reason": "so"}'),
        DONE,
        start=prompt("go", "--allowedTools", "Bash", "Agent"),
    ),
    scenario("a condition without an answer", hooks(UserPromptSubmit=asks("Fine?")), says("hmm"), DONE),
    scenario(
        "a condition that the endpoint refuses",
        hooks(UserPromptSubmit=asks("Fine?", model="claude-sonnet-5")),
        error(403, message="none"),
        DONE,
    ),
)
