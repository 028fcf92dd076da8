"""Tasks and journal entries as rows and lines."""

from __future__ import annotations

from bridle.loop.process.receipt import CheckReceipt, TaskReceipt
from bridle.loop.process.task_state import Verdict
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.terminal.styled_lines import cell_width
from bridle.views.top.task_rows import OUTPUT_LINES, journal_lines, task_lines, task_row
from bridle.wire.mask import Mask

PAGE = Page(Mask(["secret-value"]), DisplayOptions())
OUTPUT = "\n".join(f"line {number}" for number in range(OUTPUT_LINES + 5))
TASK = TaskReceipt(
    title="Token bucket",
    verdict=Verdict.FAILED,
    reason="1 check failed: secret-value",
    iterations=2,
    tries=1,
    commit="0123456789abcdef",
    cost_usd=0.5,
    question="Which?",
    checks=(CheckReceipt(command="make test", exit_code=2, output=OUTPUT), CheckReceipt(command="true")),
)


def test_a_task_has_verdict_and_cost() -> None:
    assert task_row(PAGE, TASK, 80).cells == ("✗", "Token bucket", "failed", "2", "0.5000 USD")


def test_a_task_is_shown_with_its_checks_and_the_end_of_their_output() -> None:
    text = "\n".join(line.plain for line in task_lines(PAGE, TASK, 80))
    assert "secret-value" not in text
    for part in (
        "1 check failed: ***",
        "failed · 2 iterations · 1 failed try",
        "question: Which?",
        "commit 0123456789ab",
        "✗ make test",
        "exit code 2",
        "✓ true",
    ):
        assert part in text
    assert "… 5 earlier lines" in text
    assert f"line {OUTPUT_LINES + 4}" in text
    assert "line 0\n" not in text


def test_lines_fit_the_width() -> None:
    wide = TaskReceipt(title="t" * 300, reason="r" * 300, checks=(CheckReceipt(command="c" * 300, output="o" * 300),))
    assert all(cell_width(line.plain) <= 40 for line in task_lines(PAGE, wide, 40))


def test_a_journal_entry_is_one_line() -> None:
    entry = {"seq": 7, "at": 1_794_751_200.0, "type": "EFFECT_REQUESTED", "summary": "agent: a\nb \x1b[2J"}
    (line,) = journal_lines(PAGE, [entry], 80)
    assert "\x1b" not in line.plain
    assert line.plain.startswith("    7 ")
    assert "EFFECT_REQUESTED" in line.plain
    assert line.plain.endswith("agent: a b")
    (odd,) = journal_lines(PAGE, [{**entry, "at": 1e300}], 80)
    assert odd.plain.startswith("    7 ")
