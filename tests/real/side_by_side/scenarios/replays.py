"""Messages that are printed again, and sessions that go on from an earlier message."""

from __future__ import annotations

import json

from tests.real.side_by_side.scenario import (
    AwaitEvent,
    AwaitFile,
    AwaitRequest,
    Scenario,
    Send,
    call,
    calls,
    control,
    dialogue,
    message,
    prompt,
    says,
)

ECHO = ("--replay-user-messages",)
BASH = ("--allowedTools", "Bash")
ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"
FIRST = "0199a213-81c0-7800-8aa1-bbab2a035a51"
SECOND = "0199a213-81c0-7800-8aa1-bbab2a035a52"
THIRD = "0199a213-81c0-7800-8aa1-bbab2a035a53"
NOWHERE = "0199a213-81c0-7800-8aa1-bbab2a035aff"
COMMAND = "---\ndescription: A command\n---\nDo $ARGUMENTS.\n"
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SEEN = [
    {"type": "text", "text": "one"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
]


def plain(content: object, **fields: object) -> Send:
    return Send(json.dumps({"type": "user", "message": {"role": "user", "content": content}, **fields}))


# Two turns with a call in the first; the messages of the user have ids.
TALK = (
    dialogue(
        message("one", uuid=FIRST), AwaitEvent("result"), message("two", uuid=SECOND), more=("--session-id", ONE, *BASH)
    ),
)
TALKED = (calls("Bash", command="echo hi"), says("First."), says("Second."))

SCENARIOS = (
    Scenario(
        "echoes of messages in every form",
        (
            dialogue(
                plain("one"),
                AwaitEvent("result"),
                plain(SEEN, uuid=FIRST),
                AwaitEvent("result", 2),
                plain("three", uuid=SECOND, session_id="default", parent_tool_use_id=None),
                AwaitEvent("result", 3),
                plain("four", uuid=THIRD, isSynthetic=True),
                AwaitEvent("result", 4),
                plain("five", uuid="no uuid"),
                more=ECHO,
            ),
        ),
        tuple(says(f"Answer {number}.") for number in range(1, 6)),
        transcript=True,
    ),
    Scenario(
        "a message with an id that came before",
        (
            dialogue(
                message("one", uuid=FIRST),
                AwaitEvent("result"),
                message("one", uuid=FIRST),
                message("two", uuid=SECOND),
                more=ECHO,
            ),
        ),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "a message with an id that a resumed session has",
        (
            dialogue(message("one", uuid=FIRST), more=("--session-id", ONE)),
            dialogue(message("one", uuid=FIRST), message("two", uuid=SECOND), more=("--resume", ONE, *ECHO)),
        ),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "messages with ids and no echo",
        (dialogue(message("one", uuid=FIRST), AwaitEvent("result"), message("two", uuid=SECOND)),),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "echoes of commands",
        (
            dialogue(
                message("/mycmd foo", uuid=FIRST),
                AwaitEvent("result"),
                message("/greet", uuid=SECOND),
                AwaitEvent("result", 2),
                message("/nope", uuid=THIRD),
                more=ECHO,
            ),
        ),
        (says("First."), says("Second.")),
        files={
            ".claude/commands/mycmd.md": COMMAND,
            ".claude/skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets\n---\nSay hello to $ARGUMENTS.\n",
        },
    ),
    Scenario(
        "echoes of messages that wait",
        (
            dialogue(
                message("one", uuid=FIRST),
                AwaitRequest(),
                message("two", uuid=SECOND),
                message("three", uuid=THIRD),
                more=ECHO,
            ),
        ),
        (says("First.", delay_seconds=0.6), says("Second."), says("Third.")),
    ),
    Scenario(
        "an echo of a message while a tool runs",
        (dialogue(message("one", uuid=FIRST), AwaitFile("started"), message("two", uuid=SECOND), more=(*ECHO, *BASH)),),
        (calls("Bash", command="touch started; sleep 0.7"), says("Hurried."), says("Again.")),
    ),
    Scenario(
        "echoes beside an interrupt",
        (
            dialogue(
                message("one", uuid=FIRST),
                AwaitFile("started"),
                control("r1", subtype="interrupt"),
                AwaitEvent("result"),
                message("two", uuid=SECOND),
                more=(*ECHO, *BASH),
            ),
        ),
        (calls("Bash", command="touch started; sleep 60"), says("Second.")),
    ),
    Scenario(
        "echoes beside control requests",
        (
            dialogue(
                control("r0", subtype="initialize"),
                message("one", uuid=FIRST),
                AwaitEvent("result"),
                control("r1", subtype="set_model", model="haiku"),
                AwaitEvent("control_response", 2),
                control("r2", subtype="set_permission_mode", mode="plan"),
                AwaitEvent("control_response", 3),
                message("two", uuid=SECOND),
                more=ECHO,
            ),
        ),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "echoes beside a sub-agent",
        (dialogue(message("one", uuid=FIRST), more=(*ECHO, *BASH)),),
        (
            calls("Agent", description="Looks", prompt="look", subagent_type="general-purpose"),
            calls("Bash", command="echo inner"),
            says("Report."),
            says("Done."),
        ),
    ),
    Scenario(
        "echoes with partial messages",
        (dialogue(message("one", uuid=FIRST), more=(*ECHO, *BASH, "--include-partial-messages")),),
        ({"blocks": ["I look.", call("Bash", command="echo hi")]}, says("Done.")),
    ),
    Scenario(
        "a session continues from an answer",
        (
            *TALK,
            prompt("three", "--resume", ONE, "--resume-session-at", "<assistant-2>"),
            prompt("four", "--resume", ONE),
        ),
        (*TALKED, says("Third."), says("Fourth.")),
    ),
    Scenario(
        "a session continues from a call",
        (*TALK, prompt("three", "--resume", ONE, "--resume-session-at", "<assistant-1>")),
        (*TALKED, says("Third.")),
    ),
    Scenario(
        "a session continues from a result",
        (*TALK, prompt("three", "--resume", ONE, "--resume-session-at", "<user-1>")),
        (*TALKED, says("Third.")),
    ),
    Scenario(
        "a session continues from a message of the user",
        (*TALK, prompt("three", "--resume", ONE, f"--resume-session-at={SECOND}")),
        (*TALKED, says("Third.")),
    ),
    Scenario(
        "a copy of a session continues from an answer",
        (
            *TALK,
            prompt("three", "--resume", ONE, "--fork-session", "--resume-session-at", "<assistant-2>"),
            prompt("four", "--continue", "--fork-session", "--resume-session-at", "<assistant-2>"),
        ),
        (*TALKED, says("Third."), says("Fourth.")),
    ),
    Scenario(
        "a session continues from nowhere",
        (
            *TALK,
            prompt("three", "--resume", ONE, "--resume-session-at", NOWHERE),
            prompt("three", "--resume", ONE, "--resume-session-at", "zzz"),
            prompt("three", "--resume-session-at", NOWHERE),
            prompt("three", "--continue", "--resume-session-at", "<assistant-3>"),
            prompt("three", "--resume", ONE, "--resume-session-at", ""),
        ),
        (*TALKED, says("Third."), says("Fourth."), says("Fifth.")),
    ),
)
