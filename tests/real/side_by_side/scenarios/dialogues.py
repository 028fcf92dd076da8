"""Many messages on one stdin, and control requests between them."""

from __future__ import annotations

import json

from tests.real.side_by_side.scenario import (
    AwaitEvent,
    AwaitFile,
    AwaitRequest,
    Scenario,
    Send,
    Start,
    calls,
    control,
    dialogue,
    message,
    says,
)

BASH = ("--allowedTools", "Bash")
SLOWLY = {"delay_seconds": 0.6}
HANG = {"kind": "hang"}
UUID = "0199a213-81c0-7800-8aa1-bbab2a035a53"

SCENARIOS = (
    Scenario(
        "two turns",
        (dialogue(message("one"), AwaitEvent("result"), message("two")),),
        (says("First."), says("Second.")),
        transcript=True,
    ),
    Scenario(
        "a turn with a tool and one without",
        (dialogue(message("one"), AwaitEvent("result"), message("two"), more=BASH),),
        (calls("Bash", command="echo hi"), says("First."), says("Second.")),
    ),
    Scenario(
        "a failure and then a good turn",
        (dialogue(message("one"), AwaitEvent("result"), message("two")),),
        ({"kind": "error", "status": 400, "message": "no such luck"}, says("Second.")),
    ),
    Scenario(
        "messages that wait",
        (dialogue(message("one"), AwaitRequest(), message("two"), message("three")),),
        (says("First.", **SLOWLY), says("Second."), says("Third.")),
    ),
    Scenario(
        "a message while a tool runs",
        (dialogue(message("one"), AwaitFile("started"), message("HURRY UP"), more=BASH),),
        (calls("Bash", command="touch started; sleep 0.7"), says("Hurried."), says("Again.")),
        words=("HURRY UP",),
    ),
    Scenario(
        "lines that are no objects",
        (dialogue(Send("5"), Send('"text"'), Send("[1, 2]"), Send("true"), message("one"), Send("1.5")),),
        (says("Fine."),),
    ),
    Scenario(
        "messages are echoed",
        (dialogue(message("one", uuid=UUID), AwaitEvent("result"), message("two"), more=("--replay-user-messages",)),),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "a message as a plain string",
        (dialogue(Send(json.dumps({"type": "user", "message": {"role": "user", "content": "plain"}}))),),
        (says("Fine."),),
    ),
    Scenario(
        "a message of several texts",
        (
            dialogue(
                Send(
                    json.dumps(
                        {
                            "type": "user",
                            "message": {
                                "role": "user",
                                "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
                            },
                        }
                    )
                )
            ),
        ),
        (says("Fine."),),
    ),
    Scenario("a line of an unknown type", (dialogue(Send('{"type":"mystery"}'), message("one")),), (says("Fine."),)),
    Scenario("an empty line", (dialogue(Send(""), message("one")),), (says("Fine."),)),
    Scenario("a line that is no JSON", (dialogue(Send("{nonsense")),), (says("never"),)),
    Scenario(
        "a line that is no JSON after a turn",
        (dialogue(message("one"), AwaitEvent("result"), Send("nonsense")),),
        (says("First."),),
    ),
    Scenario(
        "a message of another role",
        (dialogue(Send('{"type":"user","message":{"role":"assistant","content":"x"}}')),),
        (says("never"),),
    ),
    Scenario("no message at all", (dialogue(),), (says("never"),)),
    Scenario(
        "stdin ends during a turn",
        (dialogue(message("one"), more=BASH),),
        (calls("Bash", command="sleep 0.3; echo hi"), says("Done.")),
    ),
    Scenario(
        "without the flag for print",
        (Start(("--output-format", "stream-json", "--verbose", "--input-format", "stream-json"), (message("one"),)),),
        (says("Fine."),),
    ),
    Scenario(
        "initialize, and an unknown request",
        (dialogue(control("r1", subtype="initialize"), control("r2", subtype="bogus"), message("one")),),
        (says("Fine."),),
    ),
    Scenario("initialize alone", (dialogue(control("r1", subtype="initialize", hooks=None)),), (says("never"),)),
    Scenario(
        "an interrupt while the model is awaited",
        (
            dialogue(
                message("one"), AwaitRequest(), control("r1", subtype="interrupt"), AwaitEvent("result"), message("two")
            ),
        ),
        (HANG, says("Second.")),
    ),
    Scenario(
        "an interrupt in the middle of an answer",
        (
            dialogue(
                message("one"),
                AwaitEvent("stream_event", 3),
                control("r1", subtype="interrupt"),
                more=("--include-partial-messages",),
            ),
        ),
        ({"kind": "hang", "blocks": ["This will never be finished, I fear"], "after_events": 5},),
    ),
    Scenario(
        "an interrupt while a tool runs",
        (
            dialogue(
                message("one"),
                AwaitFile("started"),
                control("r1", subtype="interrupt"),
                AwaitEvent("result"),
                message("two"),
                more=BASH,
            ),
        ),
        (calls("Bash", command="touch started; sleep 60"), says("Second.")),
    ),
    Scenario(
        "another model between turns",
        (
            dialogue(
                message("one"),
                AwaitEvent("result"),
                control("r1", subtype="set_model", model="haiku"),
                AwaitEvent("control_response"),
                message("two"),
            ),
        ),
        (says("First."), says("Second.")),
    ),
    Scenario(
        "another mode between turns",
        (
            dialogue(
                message("one"),
                AwaitEvent("result"),
                control("r1", subtype="set_permission_mode", mode="acceptEdits"),
                AwaitEvent("control_response"),
                message("two"),
            ),
        ),
        (calls("Bash", command="touch one"), says("First."), calls("Bash", command="touch two"), says("Second.")),
    ),
    Scenario(
        "an interrupt between turns",
        (
            dialogue(
                message("one"),
                AwaitEvent("result"),
                control("r1", subtype="interrupt"),
                AwaitEvent("control_response"),
                message("two"),
            ),
        ),
        (says("First."), says("Second.")),
    ),
)
