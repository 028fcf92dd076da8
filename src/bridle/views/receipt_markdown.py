"""The receipt of a run as Markdown, for a pull request or an archive."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.loop.process.receipt import Receipt, TaskReceipt
from bridle.views.format_amounts import format_count, format_duration, format_usd
from bridle.views.markdown_text import code_span, escape_line


def markdown_receipt(receipt: Receipt) -> str:
    """Return the receipt as a Markdown document."""
    cost = "unknown" if receipt.cost_usd is None else format_usd(receipt.cost_usd)
    figures = f"{format_count(receipt.iterations, 'iteration')}, {format_duration(receipt.seconds)}, cost {cost}"
    lines = [
        f"# {escape_line(receipt.plan)}: {receipt.verdict}",
        "",
        f"Run `{receipt.run}` on the branch `{receipt.branch}`: {figures}.",
        "",
        "| task | verdict | checks | commit | cost |",
        "|---|---|---|---|---|",
        *(_row(task) for task in receipt.tasks),
        "",
        *(line for task in receipt.tasks for line in _section(task)),
    ]
    if receipt.journal is not None:
        lines += [f"Journal: {receipt.journal.sequence} `{receipt.journal.head}`", ""]
    return "\n".join(lines)


def _row(task: TaskReceipt) -> str:
    passed = sum(check.exit_code == 0 for check in task.checks)
    checks = f"{passed} of {len(task.checks)} passed" if task.checks else "none"
    commit = f"`{task.commit[:12]}`" if task.commit else ""
    cost = "unknown" if task.cost_usd is None else format_usd(task.cost_usd)
    return f"| {escape_line(task.title)} | {task.verdict} | {checks} | {commit} | {cost} |"


def _section(task: TaskReceipt) -> Iterator[str]:
    yield f"## {escape_line(task.title)}"
    yield ""
    yield f"{task.verdict}: {escape_line(task.reason)}" if task.reason else str(task.verdict)
    yield ""
    for check in task.checks:
        yield f"- {code_span(check.command)}: exit code {check.exit_code}, {check.seconds:.1f} s"
    if task.checks:
        yield ""
