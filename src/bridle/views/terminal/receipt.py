"""The receipt of a run for people: what was done, what it cost, whether it may be believed, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bridle.loop.checks.run_check import TIMED_OUT
from bridle.views.format_amounts import money, span
from bridle.views.terminal.outcome_summary import harmless
from bridle.views.terminal.styled_lines import BLANK, Line, cells, fitted, line, wrapped

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
# Where something is left to do, or a person to answer.
_OPEN = frozenset({"pending", "needs you"})
# As wide as the longest verdict; what follows stands in columns.
_VERDICT_CELLS = 17
_FIGURES_CELLS = 26
_TITLE_CELLS = (16, 60)
_INDENT = "      "
# Of a check that failed: where its reason usually stands. Its log has all of it.
_OUTPUT_LINES = 6
_COMMIT_CHARACTERS = 10


def lines(receipt: Mapping[str, Any], reason: str = "", *, width: int = PLAIN_WIDTH) -> list[str]:
    """The whole receipt as plain text, line by line; nothing that an agent wrote can harm a terminal."""
    return [one.plain for one in styled(receipt, reason, width=width)]


def styled(receipt: Mapping[str, Any], reason: str = "", *, width: int = PLAIN_WIDTH) -> list[Line]:
    """The same with the names of its styles."""
    tasks = receipt["tasks"]
    title_cells = _title_cells(tasks, width)
    shown = [_head(receipt, reason), BLANK]
    for task in tasks:
        shown += _task(task, title_cells, width)
    shown += [BLANK, *_figures(receipt), BLANK, *_ways(receipt)]
    return [Line(tuple((harmless(text), style) for text, style in one.segments)) for one in shown]


def headline(receipt: Mapping[str, Any], reason: str = "") -> str:
    """The whole receipt in one line."""
    return "".join(_headline(receipt, reason))


def _headline(receipt: Mapping[str, Any], reason: str) -> tuple[str, str]:
    tasks = receipt["tasks"]
    verified = sum(task["verdict"] in _VERIFIED for task in tasks)
    why = reason or ("" if receipt["verdict"] in _VERIFIED else receipt["verdict"])
    return f"{receipt['plan']}: {verified} of {_count(len(tasks), 'task')} verified", f" ({why})" if why else ""


def _head(receipt: Mapping[str, Any], reason: str) -> Line:
    mark, style = MARKS.get(receipt["verdict"], FAILED_MARK)
    words, why = _headline(receipt, reason)
    return Line(((f"{mark} ", style), (words, "summary"), (why, style)))


def _task(task: Mapping[str, Any], title_cells: int, width: int) -> Iterator[Line]:
    verdict = task["verdict"]
    mark, style = MARKS.get(verdict, FAILED_MARK)
    title = fitted(" ".join(str(task["title"]).split()), title_cells)
    figures = ""
    if task["iterations"] and width >= 4 + title_cells + 2 + _VERDICT_CELLS + 2 + _FIGURES_CELLS:
        figures = f"{_count(task['iterations'], 'iteration'):<14} {money(task['cost_usd']):>11}"
    yield Line(
        (
            (f"  {mark} ", style),
            (title + " " * (title_cells - cells(title)), ""),
            (f"  {verdict:<{_VERDICT_CELLS}}", style),
            (f"  {figures}", "dim"),
        )
    )
    if task["seconds"] or task["input_tokens"]:  # of an iteration that is under way nothing is known yet
        tokens = f"{task['input_tokens']:,} tokens in, {task['output_tokens']:,} out"
        yield line(f"{_INDENT}{tokens}, {span(task['seconds'])} of agents' work", "dim")
    if task["reason"] and verdict not in ("done", "pending", "needs you"):
        yield from _wrapped(task["reason"], width)
    if task["tries"] or verdict not in ("pending", "needs you"):  # before the first try nothing was decided
        yield from _evidence(task, width)
    yield from (line for words in _remarks(task) for line in _wrapped(words, width, "state.denied"))
    if task.get("question"):
        yield from _wrapped(f"it asks: {task['question']}", width, "question")
        yield line(f'{_INDENT}answer:  bridle answer {task.get("effect") or "EFFECT"} "…"')


def _remarks(task: Mapping[str, Any]) -> Iterator[str]:
    """What a person should know of the work besides its verdict."""
    for path in dict.fromkeys(task.get("undone") or ()):
        yield f"a change to {path} was undone: it is protected"
    for one in task.get("reported") or ():
        yield f"look at {one['path']}: {one['what']}"
    for denial in task.get("denials") or ():
        yield f"a tool call was refused: {denial}"
    if folded := task.get("folded"):
        yield f"{_count(len(folded), 'commit')} of the agent's own went into its commit"
    for one in task.get("cut") or ():
        kept = f"{one['kept']} of {one['characters']} characters"
        yield f"the prompt of iteration {one['iteration']} was cut: {one['section']} ({kept})"


def _evidence(task: Mapping[str, Any], width: int) -> Iterator[Line]:
    """The commit, and the checks that decided: those that failed one by one, with the end of what they printed."""
    checks = task["checks"]
    failed = [check for check in checks if check["exit_code"] != 0]
    for check in failed:
        code = "took too long" if check["exit_code"] == TIMED_OUT else f"exit code {check['exit_code']}"
        command = _command(check, width - len(_INDENT) - 2 - len(code) - 4)
        yield Line(((f"{_INDENT}✗ ", "state.error"), (f"{command}  ({code})", "")))
        yield from _output(str(check.get("output") or ""), width)
    commit = str(task["commit"] or "")[:_COMMIT_CHARACTERS]
    if checks and not failed:
        more = f" and {len(checks) - 1} more" if len(checks) > 1 else ""
        passed = f"{more} passed in {span(sum(float(check['seconds'] or 0) for check in checks))}"
        lead = f"{_INDENT}{commit:<{_COMMIT_CHARACTERS}}  " if commit else _INDENT
        command = _command(checks[0], width - len(lead) - len(passed))
        yield Line(((lead, "code"), (command + passed, "dim")))
    elif commit:
        yield line(f"{_INDENT}{commit}", "code")


def _output(text: str, width: int) -> Iterator[Line]:
    for one in [kept for kept in text.rstrip().splitlines() if kept.strip()][-_OUTPUT_LINES:]:
        yield line(f"{_INDENT}  {fitted(harmless(one).expandtabs(), width - len(_INDENT) - 2)}", "dim")


def _figures(receipt: Mapping[str, Any]) -> Iterator[Line]:
    limits = receipt["limits"]
    yield line(
        f"  {receipt['iterations']} of {_count(limits['max_iterations'], 'iteration')},"
        f" {span(receipt['seconds'])} of {span(limits['max_seconds'])},"
        f" {money(receipt['cost_usd'])} of {limits['max_cost_usd']:g}"
    )
    verified, wasted = receipt["verified_usd"], receipt["wasted_usd"]
    yield line(f"  {receipt['input_tokens']:,} tokens in, {receipt['output_tokens']:,} out", "dim")
    if verified or wasted:
        yield line(f"  {money(verified)} for verified iterations, {money(wasted)} wasted", "dim")


def _ways(receipt: Mapping[str, Any]) -> Iterator[Line]:
    """What to do next, as commands."""
    commits = receipt["commits"]
    ways: dict[str, str] = {}
    if commits:
        ways["branch"] = f"{receipt['branch']} ({_count(len(commits), 'commit')})"
    if receipt.get("worktree"):
        ways["worktree"] = str(receipt["worktree"])
    if commits:
        ways["look"] = f"git log --stat -n {len(commits)} {receipt['branch']}"
        ways["take over"] = str(receipt["merge"])
    if commits or receipt.get("worktree") or receipt["iterations"]:
        ways["undo"] = str(receipt["undo"])
    if waiting := receipt.get("waiting"):
        ways["waits for"] = f"{waiting['for']}, until {waiting['until']}"
    verdicts = {task["verdict"] for task in receipt["tasks"]}
    failed = next((task for task in receipt["tasks"] if task["verdict"] in _FAILED), None)
    if receipt.get("at_work"):
        ways["stop"] = f"bridle stop {receipt['run']}"
    elif verdicts & _OPEN:
        ways["go on"] = str(receipt["resume"])
    elif failed is not None:  # going on alone would change nothing
        ways["try again"] = f"bridle retry {shlex.quote(str(failed['title']))} {receipt['run']} --resume"
    for name, words in ways.items():
        yield Line(((f"  {name:<11}", "dim"), (words, "")))


def _wrapped(text: str, width: int, style: str = "") -> Iterator[Line]:
    for one in wrapped(" ".join(str(text).split()), width - len(_INDENT)):
        yield line(f"{_INDENT}{one}", style)


def _command(check: Mapping[str, Any], width: int) -> str:
    return fitted(" ".join(str(check["command"]).split()), max(10, width))


def _title_cells(tasks: Sequence[Mapping[str, Any]], width: int) -> int:
    least, most = _TITLE_CELLS
    room = width - 4 - 2 - _VERDICT_CELLS - 2 - _FIGURES_CELLS
    longest = max((cells(" ".join(str(task["title"]).split())) for task in tasks), default=0)
    return max(least, min(longest, room, most))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
