"""The rows of the list of runs."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.views.terminal.styled_lines import cell_width
from bridle.views.top.run_rows import COLUMNS, NEEDS_YOU, STATES, column_widths, elapsed_seconds, format_cost, run_row


def card(**fields: Any) -> dict[str, Any]:
    return {
        "run": "01RUN",
        "plan": "Add rate limiting",
        "state": "running",
        "reason": "process 7",
        "seconds": 10.0,
        "cost_usd": 0.42,
        "limits": {"max_cost_usd": 20.0},
        "driver": None,
        "iterations": 3,
        "tasks": [{"verdict": "done"}, {"verdict": "pending"}],
        "now": None,
        "last_text": None,
        **fields,
    }


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_row_fits_the_width(width: int) -> None:
    now = {"task": "A very long task " * 5, "iteration": 12, "tool": "Bash " + "x" * 200}
    row = run_row(card(now=now, plan="計画" * 40), needs_user=False, now=0, width=width)
    assert len(row.cells) == len(COLUMNS)
    assert all(cell_width(cell) <= room for cell, room in zip(row.cells, column_widths(width), strict=True))
    assert sum(column_widths(width)) + len(COLUMNS) <= width


def test_a_running_row_has_task_iteration_and_tool() -> None:
    now = {"task": "Token bucket", "iteration": 2, "tool": "Bash make test"}
    row = run_row(card(now=now), needs_user=False, now=0, width=120)
    assert row.cells == ("▸ running", "Add rate limiting", "Token bucket", "2", "Bash make test", "0:10", "0.42/20")


def test_only_verified_tasks_count_as_done() -> None:
    verdicts = ("done", "done (guard only)", "already satisfied", "unverified", "stuck", "failed", "blocked", "pending")
    row = run_row(card(tasks=[{"verdict": verdict} for verdict in verdicts]), needs_user=False, now=0, width=120)
    assert row.cells[2] == "3 of 8 tasks"


def test_a_run_that_asks_says_so() -> None:
    assert run_row(card(state="waiting"), needs_user=True, now=0, width=80).cells[0] == NEEDS_YOU[0]
    assert run_row(card(state="odd"), needs_user=False, now=0, width=80).cells[0] == "odd"


def test_every_state_has_a_sign_that_is_not_colour() -> None:
    signs = [text.split()[0] for text, _ in STATES.values()]
    assert len(set(signs)) == len(signs)


def test_hostile_text_of_a_run_is_escaped() -> None:
    row = run_row(card(plan="a\nb\x1b[2J[red]"), needs_user=False, now=0, width=120)
    assert row.cells[1] == "a\\nb\\x1b[2J[red]"


def test_the_time_grows_while_a_driver_works() -> None:
    assert elapsed_seconds(card(driver={"since": 100.0}), 160.0) == 60.0
    assert elapsed_seconds(card(driver={"since": None}), 160.0) == 10.0
    assert elapsed_seconds(card(), 160.0) == 10.0


def test_an_unknown_cost_is_a_question_mark() -> None:
    assert format_cost(card(cost_usd=None)) == "?/20"
    assert format_cost(card(limits={})) == "0.42"
