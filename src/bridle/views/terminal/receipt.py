"""The receipt of a run as lines: verdicts with their evidence, figures, and the commands to continue."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

from bridle.loop.effect_results import TIMED_OUT, CheckResult
from bridle.loop.effects import OF_GUARD
from bridle.loop.process.baseline_faults import find_fault
from bridle.loop.process.receipt import WITHOUT_SANDBOX, CheckReceipt, Receipt, RunningEffect, TaskReceipt
from bridle.loop.process.task_state import CHECKS_PASSED, UNSUCCESSFUL, VERIFIED, Verdict
from bridle.loop.text.durations import render_duration
from bridle.loop.text.failure_excerpt import failure_excerpt
from bridle.views.format_amounts import format_count, format_duration, format_usd
from bridle.views.terminal.escape_controls import escape_line, escape_unprintable
from bridle.views.terminal.styled_lines import (
    BLANK,
    Line,
    cell_width,
    indent,
    styled_line,
    truncate,
    wrap_line,
    wrap_text,
)

PLAIN_WIDTH = 100

MARKS = {
    Verdict.DONE: ("✓", "state.ok"),
    Verdict.GUARD_ONLY: ("✓", "state.ok"),
    Verdict.SATISFIED: ("✓", "state.ok"),
    Verdict.UNVERIFIED: ("?", "state.denied"),
    Verdict.NEEDS_YOU: ("!", "question"),
    Verdict.PENDING: ("·", "dim"),
    Verdict.BLOCKED: ("·", "state.denied"),
}
FAILED_MARK = ("✗", "state.error")
RUNNING_MARK = ("▸", "state.running")

# Verdicts that `bridle resume` can change.
_OPEN = frozenset({Verdict.PENDING, Verdict.NEEDS_YOU})
# As wide as the longest verdict, so that the figures align.
_VERDICT_CELLS = 17
_FIGURES_CELLS = 26
_TITLE_CELLS = (16, 60)
_INDENT = "      "
RED_GUARD = (
    "it guards every task, so no task is done while it fails: fix it first, take it out of `Checks:`,"
    " or let the first task fix it"
)
NEVER_ENDS = "it did not end within `check_timeout`: a check must end by itself, so no server and no watch mode; "
UNKNOWN_COST = "an agent reported no cost and its model has no known price: --max-cost cannot act on it"
# Of a failed check: the first failure and the summary. The log has all of its output.
FAILURE_LINES = 12
_COMMIT_CHARACTERS = 10


def plain_lines(receipt: Receipt, reason: str = "", *, width: int = PLAIN_WIDTH) -> list[str]:
    """Return the receipt as lines of plain text, with control characters escaped."""
    return [line.plain for line in styled_lines(receipt, reason, width=width)]


def styled_lines(receipt: Receipt, reason: str = "", *, width: int = PLAIN_WIDTH) -> list[Line]:
    """Return the receipt as styled lines, with control characters escaped."""
    tasks = receipt.tasks
    title_cells = _title_cells(tasks, width)
    lines = [*_head(receipt, reason, width), BLANK, *_setup(receipt, width), *_baseline(receipt, width)]
    now = {running.task: running for running in receipt.now}
    lines += (styled_line(f"  {_activity(running)}", "state.running") for running in receipt.now if not running.task)
    for task in tasks:
        lines += _task(task, title_cells, width, reason, now.get(task.title))
    lines += [BLANK, *_figures(receipt, width), BLANK, *_next_commands(receipt)]
    return [Line(tuple((escape_line(text), style) for text, style in line.segments)) for line in lines]


def _setup(receipt: Receipt, width: int) -> Iterator[Line]:
    """Yield the setup command that failed, with its output."""
    if receipt.setup is not None:
        yield from _failed(receipt.setup, width, "setup: ")
        yield BLANK


def _failed(check: CheckReceipt, width: int, lead: str = "") -> Iterator[Line]:
    code = "timed out" if check.exit_code == TIMED_OUT else f"exit code {check.exit_code}"
    command = _command(check, width - len(_INDENT) - len(lead) - 4 - len(code))
    yield Line((("    ✗ ", "state.error"), (f"{lead}{command}  ({code})", "")))
    yield from _output(check, width)


def _baseline(receipt: Receipt, width: int) -> Iterator[Line]:
    """Yield what passed before any work, and each failed check of the guard with what to do."""
    if not receipt.baseline:
        return
    passed = sum(check.exit_code == 0 for check in receipt.baseline)
    yield styled_line(f"  before any work {passed} of {format_count(len(receipt.baseline), 'check')} passed", "dim")
    is_open = receipt.verdict not in VERIFIED
    for check in receipt.baseline:
        if check.exit_code and is_open and (check.owner == OF_GUARD or _cannot_start(check)):
            yield from _failed(check, width)
            if check.owner == OF_GUARD:
                yield from _wrap(red_guard(check.exit_code), width, "state.denied")
    yield BLANK


def _cannot_start(check: CheckReceipt) -> bool:
    """Return whether the plan is at fault: that a task's own check fails before the task is done is expected."""
    result = CheckResult(
        command=check.command, owner=check.owner, exit_code=check.exit_code, output=check.output or check.excerpt
    )
    return find_fault(result) is not None


def red_guard(exit_code: int | None) -> str:
    """Return what a failed check of the guard means, and what to do."""
    return f"{NEVER_ENDS}{RED_GUARD}" if exit_code == TIMED_OUT else RED_GUARD


def headline(receipt: Receipt, reason: str = "") -> str:
    return "".join(_headline(receipt, reason))


def _headline(receipt: Receipt, reason: str) -> tuple[str, str]:
    tasks = receipt.tasks
    verified = sum(task.verdict in VERIFIED for task in tasks)
    detail = reason or ("" if receipt.verdict in VERIFIED else receipt.verdict)
    return (
        f"{receipt.plan}: {verified} of {format_count(len(tasks), 'task')} verified",
        f" ({detail})" if detail else "",
    )


def _head(receipt: Receipt, reason: str, width: int) -> Iterator[Line]:
    mark, style = MARKS.get(receipt.verdict, FAILED_MARK)
    summary, detail = _headline(receipt, reason)
    first, *rest = wrap_line(Line(((summary, "summary"), (detail, style))), width - 4)
    yield Line(((f"{mark} ", style), *first.segments))
    yield from indent(rest, "  ")


def _task(
    task: TaskReceipt, title_cells: int, width: int, said: str, running: RunningEffect | None = None
) -> Iterator[Line]:
    """Yield the lines of a task; `said` is the reason in the first line of the receipt."""
    verdict = task.verdict
    mark, style = MARKS.get(verdict, FAILED_MARK) if running is None else RUNNING_MARK
    title = truncate(" ".join(task.title.split()), title_cells)
    cost = format_usd(task.cost_usd, known=task.known_cost_usd)
    figures = f"{format_count(task.iterations, 'iteration'):<14} {cost:>11}"
    if not task.iterations or width < 4 + title_cells + 2 + _VERDICT_CELLS + 2 + max(_FIGURES_CELLS, len(figures)):
        figures = ""
    yield Line(
        (
            (f"  {mark} ", style),
            (title + " " * (title_cells - cell_width(title)), ""),
            (f"  {verdict if running is None else 'running':<{_VERDICT_CELLS}}", style),
            (f"  {figures}", "dim"),
        )
    )
    if running is not None:
        yield styled_line(f"{_INDENT}{truncate(_activity(running), width - len(_INDENT))}", style)
        if running.tool or running.text:
            yield styled_line(f"{_INDENT}> {truncate(running.tool or running.text, width - len(_INDENT) - 2)}", "code")
    if task.seconds or task.input_tokens:  # nothing is known of an iteration that is still running
        tokens = f"{task.input_tokens:,} tokens in, {task.output_tokens:,} out"
        yield styled_line(f"{_INDENT}{tokens}, {format_duration(task.seconds)} of agent time", "dim")
    is_known = task.reason == CHECKS_PASSED or verdict is Verdict.NEEDS_YOU or task.reason in said
    if task.reason and not is_known:
        yield from _wrap(task.reason, width)
    if task.tries or verdict not in _OPEN:  # nothing is decided before the first try
        yield from _evidence(task, width)
    for remark in _remarks(task):
        yield from _wrap(remark, width, "state.denied")
    if task.question:
        yield from _wrap(f"question: {task.question}", width, "question")
        yield styled_line(f'{_INDENT}answer:   bridle answer {task.effect or "EFFECT"} "…"')


def _activity(running: RunningEffect) -> str:
    """Return what is running, since when, and what it has cost so far."""
    agent = running.action if running.agent is None else f"{running.agent}, iteration {running.iteration}"
    cost = f", {format_usd(running.cost_usd)} so far" if running.cost_usd else ""
    return f"{agent}, {format_duration(running.seconds)}{cost}"


def _remarks(task: TaskReceipt) -> Iterator[str]:
    """Yield what to know about the task's work besides its verdict."""
    for path in dict.fromkeys(task.undone):
        yield f"restored {path}: it is protected (see `May edit:`)"
    for report in task.reported:
        yield f"review {report.path}: {report.what}"
    for denial in task.denials:
        yield f"tool call denied: {denial}"
    if task.folded:
        yield describe_folded(task.folded)
    for cut in task.cut:
        size = f"{cut.kept} of {cut.characters} characters"
        yield f"prompt of iteration {cut.iteration} truncated: {cut.section} ({size})"


def describe_folded(commits: Sequence[str]) -> str:
    """Return which commits went into a task's commit, and how to see them: the newest is first, snapshots keep them."""
    count = format_count(len(commits), "commit")
    return f"squashed {count} made while the agent worked: git log -{len(commits)} {commits[0][:12]}"


def _evidence(task: TaskReceipt, width: int) -> Iterator[Line]:
    """Yield the commit and the deciding checks; each failed check with its first failure."""
    checks = task.checks
    failed = [check for check in checks if check.exit_code != 0]
    for check in failed:
        code = "timed out" if check.exit_code == TIMED_OUT else f"exit code {check.exit_code}"
        command = _command(check, width - len(_INDENT) - 2 - len(code) - 4)
        yield Line(((f"{_INDENT}✗ ", "state.error"), (f"{command}  ({code})", "")))
        yield from _output(check, width)
    commit = (task.commit or "")[:_COMMIT_CHARACTERS]
    if checks and not failed:
        more = f" and {len(checks) - 1} more" if len(checks) > 1 else ""
        passed = f"{more} passed in {format_duration(sum(check.seconds for check in checks))}"
        lead = f"{_INDENT}{commit:<{_COMMIT_CHARACTERS}}  " if commit else _INDENT
        command = _command(checks[0], width - len(lead) - len(passed))
        yield Line(((lead, "code"), (command + passed, "dim")))
    elif commit:
        yield styled_line(f"{_INDENT}{commit}", "code")


def failure_lines(excerpt: str, output: str, log: str) -> list[str]:
    """Return the part of a failed check's output that matters, and where all of it is; control characters escaped."""
    text = failure_excerpt(excerpt or output, lines=FAILURE_LINES)
    lines = [escape_unprintable(line).expandtabs() for line in text.splitlines()]
    return [*lines, f"whole output: {log}"] if log and lines else lines


def _output(check: CheckReceipt, width: int) -> Iterator[Line]:
    for line in failure_lines(check.excerpt, check.output, check.log):
        yield styled_line(f"{_INDENT}  {truncate(line, width - len(_INDENT) - 2)}", "dim")


def _figures(receipt: Receipt, width: int) -> Iterator[Line]:
    limits = receipt.limits
    yield styled_line(
        f"  {receipt.iterations} of {format_count(limits.max_iterations, 'iteration')},"
        f" {format_duration(receipt.seconds)} of {format_duration(limits.max_seconds)},"
        f" {format_usd(receipt.cost_usd, known=receipt.known_cost_usd)} of {limits.max_cost_usd:g}"
    )
    if receipt.cost_usd is None:
        yield styled_line(f"  {UNKNOWN_COST}", "state.denied")
    verified, wasted = receipt.verified_usd, receipt.wasted_usd
    yield styled_line(f"  {receipt.input_tokens:,} tokens in, {receipt.output_tokens:,} out", "dim")
    if verified != 0 or wasted != 0:
        yield styled_line(f"  {format_usd(verified)} for verified iterations, {format_usd(wasted)} wasted", "dim")
    if receipt.isolation:
        style = "state.denied" if receipt.isolation.startswith(WITHOUT_SANDBOX) else "dim"
        yield styled_line(f"  isolation: {receipt.isolation}", style)
    if receipt.isolation_scope:
        yield from (styled_line(f"  {line}", "dim") for line in wrap_text(f"it {receipt.isolation_scope}", width - 2))
    for line in receipt.found:
        yield from wrap_line(styled_line(f"  found: {escape_unprintable(line)}", "dim"), width)
    for line in receipt.plan_changes:
        yield from wrap_line(styled_line(f"  changed: {escape_unprintable(line)}", "state.denied"), width)
    if receipt.plan_changes:
        yield styled_line(f"  the run uses its own plan; to take the new one: {receipt.resume} --replan", "dim")
    for line in receipt.refused:
        yield styled_line(f"  refused: {line}", "state.denied")


def _next_commands(receipt: Receipt) -> Iterator[Line]:
    """Yield where the work is, and the commands to review, merge, undo or continue it."""
    if receipt.foreign:
        yield styled_line(f"  foreign: {receipt.foreign}", "state.denied")
        return
    if receipt.undone:
        yield styled_line(f"  {receipt.undone}", "dim")
        return
    commits = receipt.commits
    commands: dict[str, str] = {}
    if commits or receipt.user_commits or receipt.has_user_changes:
        commands["branch"] = f"{receipt.branch} ({format_count(len(commits), 'commit')}{_describe_user_work(receipt)})"
    if receipt.uncommitted:
        commands["work"] = "left in your working copy, not committed"
    if receipt.worktree:
        commands["worktree"] = receipt.worktree
    if commits:
        commands["review"] = receipt.review or f"git log --stat -n {len(commits)} {receipt.branch}"
    if commits and receipt.merge:
        commands["merge"] = receipt.merge
        if receipt.pull_request:
            commands["pull request"] = receipt.pull_request
    if receipt.undo and (commits or receipt.worktree or receipt.iterations):
        commands["undo"] = receipt.undo
    if receipt.put_aside and not receipt.driver:  # the agents work on files without these changes
        commands["put aside"] = f"git stash apply --index {receipt.put_aside}"
    if receipt.waiting is not None:
        commands["waiting"] = f"{receipt.waiting.reason}, until {receipt.waiting.until}"
    verdicts = {task.verdict for task in receipt.tasks}
    failed = next((task for task in receipt.tasks if task.verdict in UNSUCCESSFUL), None)
    if receipt.driver:
        commands["stop"] = f"bridle stop {receipt.run}"
    elif verdicts & _OPEN:
        commands["resume"] = _resume(receipt)
    elif failed is not None:  # resuming alone would change nothing
        commands["new plan"] = f"bridle resume {receipt.run} --replan"
        commands["retry"] = _retry(failed.title, receipt.run)
    for name, command in commands.items():
        yield Line(((f"  {name:<11}" if len(name) < 11 else f"  {name} ", "dim"), (command, "")))


def _describe_user_work(receipt: Receipt) -> str:
    """Return which work of the user the branch has, for the end of a line."""
    if receipt.user_commits:
        return f", {receipt.user_commits} more of yours"
    return ", with changes of yours" if receipt.has_user_changes else ""


def _resume(receipt: Receipt) -> str:
    """Return the command that continues the run: with a higher limit where one is reached."""
    words, limits = [receipt.resume], receipt.limits
    if receipt.iterations >= limits.max_iterations:
        words.append(f"--max-iterations {2 * max(limits.max_iterations, receipt.iterations)}")
    if receipt.known_cost_usd >= limits.max_cost_usd:
        words.append(f"--max-cost {2 * max(limits.max_cost_usd, receipt.known_cost_usd):.4g}")
    if receipt.seconds >= limits.max_seconds:
        words.append(f"--max-time {render_duration(2 * max(limits.max_seconds, math.ceil(receipt.seconds)))}")
    return " ".join(words)


def _retry(title: str, run: str) -> str:
    words = ["--resume", "--", title, run] if title.startswith("-") else [title, run, "--resume"]
    return shlex.join(["bridle", "retry", *words])


def _wrap(text: str, width: int, style: str = "") -> Iterator[Line]:
    for line in wrap_text(" ".join(str(text).split()), width - len(_INDENT)):
        yield styled_line(f"{_INDENT}{line}", style)


def _command(check: CheckReceipt, width: int) -> str:
    return truncate(" ".join(check.command.split()), max(10, width))


def _title_cells(tasks: Sequence[TaskReceipt], width: int) -> int:
    least, most = _TITLE_CELLS
    room = width - 4 - 2 - _VERDICT_CELLS - 2 - _FIGURES_CELLS
    longest = max((cell_width(" ".join(task.title.split())) for task in tasks), default=0)
    return max(least, min(longest, room, most))
