"""The command line of each action: what the user wrote never becomes an option."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bridle.errors import UsageError
from bridle.views.run_data.commands import Target, build_command

RUN = "/r/.a5c/runs/x"
TARGET = Target(Path(RUN))
ON = {"resume": True}
DRIVEN = Target(Path(RUN), is_driven=True)


@pytest.mark.parametrize(
    ("action", "target", "words", "is_detached"),
    [
        ({"action": "answer", "text": "--a"}, TARGET, f"answer --json -- E --a {RUN}", False),
        ({"action": "answer", "option": "b", "text": "c"}, TARGET, f"answer --json -- E b {RUN}", False),
        ({"action": "answer", "text": "a", **ON}, TARGET, f"answer --json --resume -- E a {RUN}", True),
        ({"action": "answer", "text": "a", **ON}, DRIVEN, f"answer --json -- E a {RUN}", False),
        ({"action": "approve"}, TARGET, f"answer --json --approve -- E {RUN}", False),
        ({"action": "reject", "text": "no"}, TARGET, f"answer --json --reject -- E no {RUN}", False),
        ({"action": "hint", "text": "--x"}, TARGET, f"hint --json -- --x {RUN}", False),
        ({"action": "stop"}, TARGET, f"stop --json -- {RUN}", False),
        ({"action": "resume", "limits": {"tries": 7}}, TARGET, f"resume --json --tries 7 -- {RUN}", True),
        ({"action": "resume", "limits": {"max_seconds": 90}}, TARGET, f"resume --json --max-time 90s -- {RUN}", True),
        ({"action": "resume", "limits": {"max_cost_usd": 2.5}}, TARGET, f"resume --json --max-cost 2.5 -- {RUN}", True),
        ({"action": "resume"}, Target(Path(RUN), is_loop=False), f"drive --json -- {RUN}", True),
        ({"action": "retry", "task": "-T"}, TARGET, f"retry --json -- -T {RUN}", False),
        ({"action": "retry", "task": "T", **ON}, TARGET, f"retry --json --resume -- T {RUN}", True),
        ({"action": "undo"}, TARGET, f"undo --json -- {RUN}", False),
        ({"action": "message", "session": "s-1", "text": "-x"}, None, "ask --json --resume=s-1 -- -x", True),
        ({"action": "start", "prompt": "-p", "model": "-m"}, None, "ask --json --model=-m -- -p", True),
        ({"action": "start", "prompt": "p", "agent": "codex"}, None, "ask --json --agent=codex -- p", True),
    ],
)
def test_command(action: dict[str, Any], target: Target | None, words: str, is_detached: bool) -> None:
    command = build_command({"effect": "E", **action}, target)
    assert (" ".join(command.arguments), command.is_detached) == (words, is_detached)


@pytest.mark.parametrize(
    "action",
    [
        {},
        {"action": None},
        {"action": "rm"},
        {"action": "answer", "text": "a"},
        {"action": "answer", "effect": "../x", "text": "a"},
        {"action": "answer", "effect": "-E", "text": "a"},
        {"action": "answer", "effect": "E"},
        {"action": "approve", "effect": ["E"]},
        {"action": "hint", "text": "  \n"},
        {"action": "hint", "text": "a\0"},
        {"action": "hint", "text": "x" * 20_001},
        {"action": "retry"},
        {"action": "resume", "limits": "all"},
        {"action": "resume", "limits": {"max_cost_usd": float("inf")}},
        {"action": "resume", "limits": {"max_cost_usd": 0}},
        {"action": "message", "session": "a/b", "text": "x"},
        {"action": "start"},
    ],
)
def test_a_wrong_action_is_refused(action: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        build_command(action, TARGET)


def test_an_action_on_a_run_needs_one() -> None:
    with pytest.raises(UsageError, match="needs a run"):
        build_command({"action": "stop"}, None)
