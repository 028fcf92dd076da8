"""Signals, at each moment of a turn."""

from __future__ import annotations

from signal import SIGHUP, SIGINT, SIGTERM

from tests.real.side_by_side.scenario import (
    STREAM,
    AwaitFile,
    AwaitRequest,
    Scenario,
    Signal,
    Start,
    calls,
    dialogue,
    message,
)

BASH = ("--allowedTools", "Bash")
HANG = {"kind": "hang"}
SLEEP = calls("Bash", command="touch started; sleep 60")

SCENARIOS = (
    Scenario(
        "SIGINT while a tool runs", (Start((*STREAM, "go", *BASH), (AwaitFile("started"), Signal(SIGINT))),), (SLEEP,)
    ),
    Scenario(
        "SIGTERM while a tool runs", (Start((*STREAM, "go", *BASH), (AwaitFile("started"), Signal(SIGTERM))),), (SLEEP,)
    ),
    Scenario(
        "SIGTERM while the model is awaited", (Start((*STREAM, "go"), (AwaitRequest(), Signal(SIGTERM))),), (HANG,)
    ),
    Scenario("SIGHUP while the model is awaited", (Start((*STREAM, "go"), (AwaitRequest(), Signal(SIGHUP))),), (HANG,)),
    Scenario(
        "SIGINT in a dialogue while a tool runs",
        (dialogue(message("go"), AwaitFile("started"), Signal(SIGINT), more=BASH),),
        (SLEEP,),
    ),
)
