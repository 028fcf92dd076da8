"""Control requests whose effect shows in what follows, and requests that are cancelled."""

from __future__ import annotations

from typing import Any

from tests.real.side_by_side.scenario import (
    AwaitEvent,
    AwaitRequest,
    Scenario,
    Send,
    Step,
    calls,
    control,
    dialogue,
    message,
    says,
)

FAR_FUTURE_MS = 4_102_444_800_000
CANCELLED, ANSWERED = "11111111-1111-4111-8111-111111111111", "22222222-1111-4111-8111-111111111111"
STDIO = ("--permission-prompt-tool", "stdio")


def between(name: str, *requests: dict[str, Any], more: tuple[str, ...] = ()) -> Scenario:
    """A turn, a control request, a turn, and so on."""
    steps: list[Step] = [message("turn 0"), AwaitEvent("result")]
    for number, request in enumerate(requests, start=1):
        steps += [control(f"r{number}", **request), AwaitEvent("control_response", number)]
        steps += [message(f"turn {number}"), AwaitEvent("result", number + 1)]
    answers = tuple(says(f"Answer {number}.") for number in range(len(requests) + 1))
    return Scenario(name, (dialogue(*steps, more=more),), answers)


SCENARIOS = (
    between(
        "thoughts of another length between turns",
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 2000},
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 0},
        {"subtype": "set_max_thinking_tokens", "max_thinking_tokens": None},
        more=("--model", "haiku"),
    ),
    Scenario(
        "files that the host has read for the model",
        (
            dialogue(
                control("a", subtype="seed_read_state", path="<workspace>/seeded.txt", mtime=FAR_FUTURE_MS),
                control("b", subtype="seed_read_state", path="old.txt", mtime=1),
                AwaitEvent("control_response", 2),
                message("go"),
                more=("--permission-mode", "acceptEdits"),
            ),
        ),
        (
            *(
                calls("Write", file_path=f"<workspace>/{name}.txt", content="new\n")
                for name in ("seeded", "old", "other")
            ),
            says("Done."),
        ),
        files={f"{name}.txt": f"{name}\n" for name in ("seeded", "old", "other")},
    ),
    Scenario(
        "a queued message that is cancelled",
        (
            dialogue(
                message("one"),
                AwaitRequest(),
                message("two", uuid=CANCELLED),
                message("three", uuid=ANSWERED),
                control("a", subtype="cancel_async_message", message_uuid=CANCELLED),
                control("b", subtype="cancel_async_message", message_uuid=CANCELLED),
                AwaitEvent("control_response", 2),
                AwaitEvent("result", 2),
            ),
        ),
        ({"blocks": ["One."], "delay_seconds": 2}, says("Three.")),
    ),
    Scenario(
        "an interrupt while the host decides",
        (
            dialogue(
                message("one"),
                AwaitEvent("control_request"),
                control("r0", subtype="mcp_status"),  # until it is answered the rest of the model's answer is read
                AwaitEvent("control_response"),
                control("r1", subtype="interrupt"),
                AwaitEvent("result"),
                message("two"),
                more=STDIO,
            ),
        ),
        (calls("Bash", command="touch one"), says("Second.")),
    ),
    Scenario(
        "requests that are cancelled or answered without being asked",
        (
            dialogue(
                Send('{"type":"control_cancel_request","request_id":"nothing"}'),
                Send(
                    '{"type":"control_response","response":{"subtype":"success","request_id":"nothing","response":{}}}'
                ),
                message("one"),
                AwaitEvent("result"),
                control("r1", subtype="mcp_status"),
                Send('{"type":"control_cancel_request","request_id":"r1"}'),
                AwaitEvent("control_response"),
                message("two"),
            ),
        ),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "a host that closes its input while it decides",
        (dialogue(message("one"), AwaitEvent("control_request"), more=STDIO),),
        (calls("Bash", command="touch one"), says("Without.")),
    ),
)
