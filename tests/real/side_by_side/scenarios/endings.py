"""Signals.

Those after which the real one ends now so and now so cannot be compared: SIGINT while the model is awaited, and SIGINT
in a dialogue. What ours does then is in tests/agent/test_ralph.py.
"""

from __future__ import annotations

from signal import SIGHUP, SIGINT, SIGTERM, Signals

from tests.real.side_by_side.scenario import (
    STREAM,
    Answer,
    AwaitFile,
    AwaitRequest,
    Close,
    Scenario,
    Signal,
    Start,
    Step,
    calls,
)

BASH = ("--allowedTools", "Bash")
HANG = {"kind": "hang"}
SLEEP = calls("Bash", command="touch started; sleep 60")


def signalled(name: str, moment: Step, number: Signals, answer: Answer) -> Scenario:
    return Scenario(name, (Start((*STREAM, "go", *BASH), (Close(), moment, Signal(number))),), (answer,))


SCENARIOS = (
    signalled("SIGINT while a tool runs", AwaitFile("started"), SIGINT, SLEEP),
    signalled("SIGTERM while a tool runs", AwaitFile("started"), SIGTERM, SLEEP),
    signalled("SIGTERM while the model is awaited", AwaitRequest(), SIGTERM, HANG),
    signalled("SIGHUP while the model is awaited", AwaitRequest(), SIGHUP, HANG),
)
