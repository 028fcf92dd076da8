"""`bridle runs`: list the runs of this repository, newest first."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.user_interface.options import json_option, runs_dir_option

if TYPE_CHECKING:
    from bridle.loop.control.run_state import RunFacts

# What fits on a screen; all of them would take seconds in a repository with hundreds.
SHOWN_RUNS = 20


@click.command("runs", short_help="List the runs of this repository.")
@click.option(
    "--count", type=click.IntRange(0), default=SHOWN_RUNS, show_default=True, help="How many at most; 0: all of them."
)
@runs_dir_option
@json_option
def command(*, count: int, runs_dir: str | None, as_json: bool) -> int:
    """List the runs here, newest first: id, state, age, cost, tasks verified, branch and plan.

    Every command takes an id that is listed, or a unique prefix of it, as RUN. Changes nothing.
    """
    from bridle.cli.user_interface.terminal import print_document, show
    from bridle.journal.stores.find_run import newest_runs, runs_folders

    folders = [Path(run) for run in newest_runs(*runs_folders(runs_dir, os.environ))]
    listed = [_summary(run) for run in folders[: count or None]]
    if as_json:
        print_document({"runs": listed, "count": len(folders)})
        return 0
    for line in _lines(listed):
        show(line)
    if not folders:
        show("no runs here; start one with: bridle run PLAN.md")
    elif len(folders) > len(listed):
        show(f"and {len(folders) - len(listed)} older: bridle runs --count 0")
    return 0


def _summary(run: Path) -> dict[str, Any]:
    """Return what is shown of a run; one that cannot be read has the reason."""
    from bridle.cli.user_interface.terminal import shown_run
    from bridle.errors import Error
    from bridle.loop.control.run_state import UNREADABLE, read_facts, state_and_reason

    empty: dict[str, Any] = {
        "run": shown_run(run),
        "folder": str(run),
        "plan": None,
        "started_at": None,
        "age_seconds": None,
    }
    empty |= {"cost_usd": None, "known_cost_usd": 0.0, "branch": None, "tasks": None, "verified": None, "now": []}
    try:
        facts = read_facts(run, os.environ)
        state, reason = state_and_reason(facts)
        return {**empty, "state": state, "reason": reason, **_facts(facts)}
    except Error as error:
        return {**empty, "state": UNREADABLE, "reason": error.message}


def _facts(facts: RunFacts) -> dict[str, Any]:
    import msgspec

    from bridle.ground import clock
    from bridle.loop.process.task_state import VERIFIED

    created, receipt = facts.state.created, facts.receipt
    started = None if created is None else created.recorded_at
    age = None if started is None else (clock.now() - datetime.fromisoformat(started)).total_seconds()
    known = {"started_at": started, "age_seconds": None if age is None else round(max(0.0, age), 3)}
    if receipt is None:
        metadata = facts.store.metadata()
        return {**known, "plan": metadata.prompt or metadata.process_id}
    return {
        **known,
        "plan": receipt.plan,
        "cost_usd": receipt.cost_usd,
        "known_cost_usd": receipt.known_cost_usd,
        "branch": receipt.branch or None,
        "tasks": len(receipt.tasks),
        "verified": sum(task.verdict in VERIFIED for task in receipt.tasks),
        "now": msgspec.to_builtins(receipt.now),
    }


def _lines(runs: list[dict[str, Any]]) -> list[str]:
    """Return a line for each run, with its reason or what is running below it."""
    lines = []
    widths = [max((len(cell) for cell in column), default=0) for column in zip(*map(_cells, runs), strict=True)]
    for run in runs:
        cells = (cell.ljust(width) for cell, width in zip(_cells(run), widths, strict=True))
        lines.append(f"{'  '.join(cells)}  {' '.join(str(run['plan'] or '').split())}".rstrip())
        details = [_activity(now) for now in run["now"]] or [run["reason"]]
        lines += (f"  {' '.join(detail.split())}" for detail in details if detail)
    return lines


def _cells(run: dict[str, Any]) -> tuple[str, ...]:
    from bridle.views.format_amounts import format_age, format_usd

    age = "" if run["age_seconds"] is None else format_age(run["age_seconds"])
    cost = "" if run["tasks"] is None else format_usd(run["cost_usd"], known=run["known_cost_usd"])
    tasks = "" if run["tasks"] is None else f"{run['verified']}/{run['tasks']}"
    return (run["run"], run["state"], age, cost, tasks, run["branch"] or "")


def _activity(now: dict[str, Any]) -> str:
    from bridle.views.format_amounts import format_duration

    agent = now["action"] if now["agent"] is None else f"{now['agent']}, iteration {now['iteration']}"
    tool = f" > {now['tool']}" if now["tool"] else ""
    return f"{now['task'] or ''}: {agent}, {format_duration(now['seconds'])}{tool}".lstrip(": ")
