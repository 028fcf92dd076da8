"""The tasks of a run as rows, one of them whole with its checks, and the journal as lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from bridle.loop.process.receipt import CheckReceipt, TaskReceipt
from bridle.views.format_amounts import format_count, format_duration, format_usd
from bridle.views.terminal.page import Page
from bridle.views.terminal.receipt import FAILED_MARK, MARKS
from bridle.views.terminal.styled_lines import BLANK, Line, styled_line, truncate, wrap_text
from bridle.wire.events.loose_json import JsonObject

COLUMNS = ("", "task", "verdict", "iter", "cost")
_MARK_CELLS, _VERDICT_CELLS, _NUMBER_CELLS, _COST_CELLS = 2, 18, 5, 11
# Of a check's output: the end, where the reason usually is.
OUTPUT_LINES = 40
_SEQUENCE_CELLS, _TIME_CELLS, _KIND_CELLS = 6, 9, 26


class TaskRow(Struct, frozen=True):
    """A task of the list."""

    title: str
    style: str
    cells: tuple[str, ...]


def column_widths(width: int) -> tuple[int, ...]:
    """Return the widths of the columns."""
    others = _MARK_CELLS + _VERDICT_CELLS + _NUMBER_CELLS + _COST_CELLS
    return (_MARK_CELLS, max(12, width - others - len(COLUMNS)), _VERDICT_CELLS, _NUMBER_CELLS, _COST_CELLS)


def task_row(page: Page, task: TaskReceipt, width: int) -> TaskRow:
    """Return the row of a task."""
    mark, style = MARKS.get(task.verdict, FAILED_MARK)
    cost = "" if task.cost_usd == 0 else format_usd(task.cost_usd, known=task.known_cost_usd)
    texts = (mark, task.title, str(task.verdict), str(task.iterations or ""), cost)
    cells = tuple(truncate(_one_line(page, text), room) for text, room in zip(texts, column_widths(width), strict=True))
    return TaskRow(task.title, style, cells)


def task_lines(page: Page, task: TaskReceipt, width: int) -> Iterator[Line]:
    """Yield everything about a task: why it has its verdict, its question, its checks with the end of their output."""
    yield styled_line(truncate(_one_line(page, task.title), width), "summary")
    figures = [
        format_count(task.iterations, "iteration"),
        format_count(task.tries, "failed try"),
        format_duration(task.seconds),
    ]
    yield styled_line(truncate(" · ".join([str(task.verdict), *figures]), width), "dim")
    for text in (task.reason, f"question: {task.question}" if task.question else ""):
        yield from (styled_line(line) for line in wrap_text(page.clean(text), width) if text)
    if task.commit:
        yield styled_line(f"commit {task.commit[:12]}", "dim")
    for check in task.checks:
        yield from _check(page, check, width)


def _check(page: Page, check: CheckReceipt, width: int) -> Iterator[Line]:
    mark, style = ("✓", "state.ok") if check.exit_code == 0 else ("✗", "state.error")
    yield BLANK
    facts = f"exit code {check.exit_code}, {format_duration(check.seconds)}"
    yield Line(((f"{mark} ", style), (truncate(_one_line(page, check.command), width - 2), "code")))
    yield styled_line(f"  {facts}", "dim")
    lines = page.clean(check.output).strip("\n").split("\n")
    if len(lines) > OUTPUT_LINES:
        yield styled_line(f"  … {len(lines) - OUTPUT_LINES} earlier lines", "dim")
    for text in lines[-OUTPUT_LINES:]:
        yield from (styled_line(f"  {piece}", "output") for piece in wrap_text(text, width - 2) if text)


def journal_lines(page: Page, entries: Iterable[JsonObject], width: int) -> Iterator[Line]:
    """Yield one line for each entry of the journal: number, time, type and summary."""
    room = max(10, width - _SEQUENCE_CELLS - _TIME_CELLS - _KIND_CELLS)
    for entry in entries:
        kind = truncate(_one_line(page, entry["type"]), _KIND_CELLS - 1)
        yield Line(
            (
                (f"{entry['seq']:>{_SEQUENCE_CELLS - 1}} ", "dim"),
                (f"{_clock(entry['at']):<{_TIME_CELLS}}", "dim"),
                (f"{kind:<{_KIND_CELLS}}", "code"),
                (truncate(_one_line(page, entry["summary"]), room), ""),
            )
        )


def _clock(at: float | None) -> str:
    try:
        return "" if at is None else f"{datetime.fromtimestamp(at, UTC).astimezone():%H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return ""


def _one_line(page: Page, text: str) -> str:
    return " ".join(page.clean(text).split())
