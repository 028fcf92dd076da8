"""A log of the real Claude Code, read again later, tells the same as the live run did."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.fixtures.claude_on_stage import Answer, calls, says, scene

pytestmark = pytest.mark.real

SCHEMA = json.dumps({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
# What only a live run can know.
LIVE_ONLY = {
    "log_path",
    "stderr_path",
    "attempts",
    "duration_seconds",
    "killed_after_result",
    "limit_reached",
    "cost_usd",
    "cost_source",
    "corrections",
    "program",
    "auth",
    "cwd_differs",
}
# Enough for a start and the first tool call on a busy machine.
TIMEOUT = "12"


@dataclass(frozen=True)
class Case:
    """A script, what `bridle ask` is given beside the prompt, and what must come of it."""

    answers: tuple[Answer, ...]
    arguments: tuple[str, ...]
    expected: dict[str, Any]


CASES = {
    "happy": Case((says("fine"),), (), {"final_text": "fine", "run_error": False}),
    "denial": Case(
        (calls("Bash", command="touch x"), says("no")),
        ("--allowed-tools", "Bash(git status)"),
        {"run_error": True, "error_category": "permission"},
    ),
    "denial allowed": Case(
        (calls("Bash", command="touch x"), says("no")),
        ("--allowed-tools", "Bash(git status)", "--allow-denials"),
        {"run_error": False, "error_category": None},
    ),
    "timeout": Case(
        (calls("Bash", command="sleep 9000"), says("never")),
        ("--timeout", TIMEOUT),
        {"error": "timeout", "error_category": "timeout", "exit_code": -1, "tool_uses": 1},
    ),
    "wrong key": Case(
        ({"kind": "error", "status": 401, "times": "forever"},),
        (),
        {"error_category": "auth", "api_error_status": 401, "run_error": True},
    ),
    "background": Case(
        (calls("Bash", command="sleep 1", run_in_background=True), says("wait"), says("done")),
        (),
        {"results": 2, "final_text": "done", "run_error": False},
    ),
    "question": Case((says("Which one?"),), (), {"error_category": "interactive"}),
    "question ignored": Case((says("Which one?"),), ("--no-hang-heuristic",), {"error_category": None}),
    "never in form": Case(
        ({**says("seven"), "times": "forever"},),
        ("--json-schema", SCHEMA),
        {"error_category": "parse", "run_error": True},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_log_that_is_inspected_gives_the_outcome_of_the_live_run(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    with scene(tmp_path, *case.answers) as set_up:
        asked = set_up.ask("go", *case.arguments)
        assert ("failed (timeout): no result after 12 seconds (--timeout)" in asked.stderr) is (name == "timeout")
        live, replayed = asked.document, set_up.inspect(asked.log)
        assert {key: live[key] for key in case.expected} == case.expected
        assert set(live) - set(replayed) == LIVE_ONLY
        assert {key: value for key, value in live.items() if key not in LIVE_ONLY} == replayed
