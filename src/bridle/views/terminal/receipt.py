"""The receipt of a run as lines: verdicts with their evidence, figures, and the commands to continue."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridle.loop.checks.run_check import TIMED_OUT
from bridle.views.format_amounts import format_duration, format_usd
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.views.terminal.styled_lines import BLANK, Line, cell_width, styled_line, truncate, wrap_text

PLAIN_WIDTH = 100

MARKS = {
    "done": ("✓", "state.ok"),
    "done (guard only)": ("✓", "state.ok"),
    "already satisfied": ("✓", "state.ok"),
    "unverified": ("?", "state.denied"),
    "needs you": ("!", "question"),
    "pending": ("·", "dim"),
    "blocked": ("·", "state.denied"),
}
FAILED_MARK = ("✗", "state.error")

_VERIFIED = ("done", "done (guard only)", "already satisfied")
_FAILED = frozenset({"failed", "stuck"})
# Verdicts that `bridle resume` can change.
_OPEN = frozenset({"pending", "needs you"})
# As wide as the longest verdict, so that the figures align.
_VERDICT_CELLS = 17
_FIGURES_CELLS = 26
_TITLE_CELLS = (16, 60)
_INDENT = "      "
# Of a failed check's output: the end, where the reason usually is. The log has all of it.
_OUTPUT_LINES = 6
_COMMIT_CHARACTERS = 10


def plain_lines(receipt: Mapping[str, Any], reason: str = "", *, width: int = PLAIN_WIDTH) -> list[str]:
    """Return the receipt as lines of plain text, with control characters escaped."""
    return [line.plain for line in styled_lines(receipt, reason, width=width)]


def styled_lines(receipt: Mapping[str, Any], reason: str = "", *, width: int = PLAIN_WIDTH) -> list[Line]:
    """Return the receipt as styled lines, with control characters escaped."""
    tasks = receipt["tasks"]
    title_cells = _title_cells(tasks, width)
    lines = [_head(receipt, reason), BLANK]
    for task in tasks:
        lines += _task(task, title_cells, width)
    lines += [BLANK, *_figures(receipt), BLANK, *_next_commands(receipt)]
    return [Line(tuple((escape_unprintable(text), style) for text, style in line.segments)) for line in lines]


def headline(receipt: Mapping[str, Any], reason: str = "") -> str:
    """Return the receipt in one line."""
    return "".join(_headline(receipt, reason))


def _headline(receipt: Mapping[str, Any], reason: str) -> tuple[str, str]:
    tasks = receipt["tasks"]
    verified = sum(task["verdict"] in _VERIFIED for task in tasks)
    detail = reason or ("" if receipt["verdict"] in _VERIFIED else receipt["verdict"])
    return f"{receipt['plan']}: {verified} of {_count(len(tasks), 'task')} verified", f" ({detail})" if detail else ""


def _head(receipt: Mapping[str, Any], reason: str) -> Line:
    mark, style = MARKS.get(receipt["verdict"], FAILED_MARK)
    summary, detail = _headline(receipt, reason)
    return Line(((f"{mark} ", style), (summary, "summary"), (detail, style)))


def _task(task: Mapping[str, Any], title_cells: int, width: int) -> Iterator[Line]:
    verdict = task["verdict"]
    mark, style = MARKS.get(verdict, FAILED_MARK)
    title = truncate(" ".join(str(task["title"]).split()), title_cells)
    figures = ""
    if task["iterations"] and width >= 4 + title_cells + 2 + _VERDICT_CELLS + 2 + _FIGURES_CELLS:
        figures = f"{_count(task['iterations'], 'iteration'):<14} {format_usd(task['cost_usd']):>11}"
    yield Line(
        (
            (f"  {mark} ", style),
            (title + " " * (title_cells - cell_width(title)), ""),
            (f"  {verdict:<{_VERDICT_CELLS}}", style),
            (f"  {figures}", "dim"),
        )
    )
    if task["seconds"] or task["input_tokens"]:  # nothing is known of an iteration that is still running
        tokens = f"{task['input_tokens']:,} tokens in, {task['output_tokens']:,} out"
        yield styled_line(f"{_INDENT}{tokens}, {format_duration(task['seconds'])} of agent time", "dim")
    if task["reason"] and verdict not in ("done", "pending", "needs you"):
        yield from _wrapped(task["reason"], width)
    if task["tries"] or verdict not in ("pending", "needs you"):  # nothing is decided before the first try
        yield from _evidence(task, width)
    for remark in _remarks(task):
        yield from _wrapped(remark, width, "state.denied")
    if task.get("question"):
        yield from _wrapped(f"question: {task['question']}", width, "question")
        yield styled_line(f'{_INDENT}answer:   bridle answer {task.get("effect") or "EFFECT"} "…"')


def _remarks(task: Mapping[str, Any]) -> Iterator[str]:
    """Yield what to know about the task's work besides its verdict."""
    for path in dict.fromkeys(task.get("undone") or ()):
        yield f"restored {path}: it is protected"
    for report in task.get("reported") or ():
        yield f"review {report['path']}: {report['what']}"
    for denial in task.get("denials") or ():
        yield f"tool call denied: {denial}"
    if folded := task.get("folded"):
        yield f"squashed {_count(len(folded), 'commit')} made by the agent"
    for cut in task.get("cut") or ():
        size = f"{cut['kept']} of {cut['characters']} characters"
        yield f"prompt of iteration {cut['iteration']} truncated: {cut['section']} ({size})"


def _evidence(task: Mapping[str, Any], width: int) -> Iterator[Line]:
    """Yield the commit and the deciding checks; each failed check with the end of its output."""
    checks = task["checks"]
    failed = [check for check in checks if check["exit_code"] != 0]
    for check in failed:
        code = "timed out" if check["exit_code"] == TIMED_OUT else f"exit code {check['exit_code']}"
        command = _command(check, width - len(_INDENT) - 2 - len(code) - 4)
        yield Line(((f"{_INDENT}✗ ", "state.error"), (f"{command}  ({code})", "")))
        yield from _output(str(check.get("output") or ""), width)
    commit = str(task["commit"] or "")[:_COMMIT_CHARACTERS]
    if checks and not failed:
        more = f" and {len(checks) - 1} more" if len(checks) > 1 else ""
        passed = f"{more} passed in {format_duration(sum(float(check['seconds'] or 0) for check in checks))}"
        lead = f"{_INDENT}{commit:<{_COMMIT_CHARACTERS}}  " if commit else _INDENT
        command = _command(checks[0], width - len(lead) - len(passed))
        yield Line(((lead, "code"), (command + passed, "dim")))
    elif commit:
        yield styled_line(f"{_INDENT}{commit}", "code")


def _output(text: str, width: int) -> Iterator[Line]:
    for output in [line for line in text.splitlines() if line.strip()][-_OUTPUT_LINES:]:
        yield styled_line(
            f"{_INDENT}  {truncate(escape_unprintable(output).expandtabs(), width - len(_INDENT) - 2)}", "dim"
        )


def _figures(receipt: Mapping[str, Any]) -> Iterator[Line]:
    limits = receipt["limits"]
    yield styled_line(
        f"  {receipt['iterations']} of {_count(limits['max_iterations'], 'iteration')},"
        f" {format_duration(receipt['seconds'])} of {format_duration(limits['max_seconds'])},"
        f" {format_usd(receipt['cost_usd'])} of {limits['max_cost_usd']:g}"
    )
    verified, wasted = receipt["verified_usd"], receipt["wasted_usd"]
    yield styled_line(f"  {receipt['input_tokens']:,} tokens in, {receipt['output_tokens']:,} out", "dim")
    if verified or wasted:
        yield styled_line(f"  {format_usd(verified)} for verified iterations, {format_usd(wasted)} wasted", "dim")


def _next_commands(receipt: Mapping[str, Any]) -> Iterator[Line]:
    """Yield where the work is, and the commands to review, merge, undo or continue it."""
    commits = receipt["commits"]
    commands: dict[str, str] = {}
    if commits:
        commands["branch"] = f"{receipt['branch']} ({_count(len(commits), 'commit')})"
    if receipt.get("worktree"):
        commands["worktree"] = str(receipt["worktree"])
    if commits:
        commands["review"] = f"git log --stat -n {len(commits)} {receipt['branch']}"
        commands["merge"] = str(receipt["merge"])
    if commits or receipt.get("worktree") or receipt["iterations"]:
        commands["undo"] = str(receipt["undo"])
    if waiting := receipt.get("waiting"):
        commands["waiting"] = f"{waiting['for']}, until {waiting['until']}"
    verdicts = {task["verdict"] for task in receipt["tasks"]}
    failed = next((task for task in receipt["tasks"] if task["verdict"] in _FAILED), None)
    if receipt.get("at_work"):
        commands["stop"] = f"bridle stop {receipt['run']}"
    elif verdicts & _OPEN:
        commands["resume"] = str(receipt["resume"])
    elif failed is not None:  # resuming alone would change nothing
        commands["retry"] = f"bridle retry {shlex.quote(str(failed['title']))} {receipt['run']} --resume"
    for name, command in commands.items():
        yield Line(((f"  {name:<11}", "dim"), (command, "")))


def _wrapped(text: str, width: int, style: str = "") -> Iterator[Line]:
    for line in wrap_text(" ".join(str(text).split()), width - len(_INDENT)):
        yield styled_line(f"{_INDENT}{line}", style)


def _command(check: Mapping[str, Any], width: int) -> str:
    return truncate(" ".join(str(check["command"]).split()), max(10, width))


def _title_cells(tasks: Sequence[Mapping[str, Any]], width: int) -> int:
    least, most = _TITLE_CELLS
    room = width - 4 - 2 - _VERDICT_CELLS - 2 - _FIGURES_CELLS
    longest = max((cell_width(" ".join(str(task["title"]).split())) for task in tasks), default=0)
    return max(least, min(longest, room, most))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
