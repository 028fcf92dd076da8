"""`bridle undo`: restore the branch and the files from before a run."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.loop.undo.start_undo import UndoRequest
    from bridle.loop.undo.undo_run import Undone


@click.command("undo", short_help="Restore the branch and the files from before a run.")
@click.argument("run", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be done and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, run: str | None, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Restore the branch and the files from before RUN (default: the last run), and remove its branch and worktrees.

    Your files are as before the run, byte for byte: tracked ones, uncommitted changes and what was staged, and
    untracked files that an agent changed or deleted. What you changed since then in untracked files and in the plan
    stays. Ignored files are not touched. The work of the run, with your own commits on its branch, stays under a ref
    that is printed.
    """
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface.terminal import find_loop_run, print_document, say
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.undo import start_undo

    folder = find_loop_run(run)
    if not dry_run:
        refuse_inside_agent("undo", folder)
    check_foreign(folder)
    request = asyncio.run(start_undo.prepare(folder, dict(os.environ), say))
    document = _document(folder.name, request)
    if request.state.is_done:
        kept = f"; its work is kept as {request.state.kept}" if request.state.kept else ""
        say(f"run {folder.name} is already undone{kept}")
    elif request.plan.is_empty:
        say(f"run {folder.name} has left nothing to undo")
    else:
        say(f"undo of run {folder.name} will:")
        for line in request.plan.lines():
            say(f"  {line}")
        if not dry_run:
            _confirm(folder.name, yes=yes, as_json=as_json)
            done = asyncio.run(start_undo.perform(folder, dict(os.environ), say))
            document |= _outcome(done)
            for line in _report(done):
                say(line)
    if as_json:
        print_document(document)
    return 0


def _document(run: str, request: UndoRequest) -> dict[str, Any]:
    plan = request.plan
    return {
        "run": run,
        "undone": request.state.is_done,
        "branch": plan.branch,
        "came_from": plan.came_from,
        "base": plan.base,
        "commits": plan.commits,
        "user_commits": [{"commit": own.commit, "subject": own.subject} for own in plan.users_commits],
        "steps": [] if request.state.is_done else plan.lines(),
        "kept": request.state.kept,
    }


def _outcome(done: Undone) -> dict[str, Any]:
    return {
        "undone": True,
        "kept": done.kept,
        "snapshot": done.snapshot,
        "restored": list(done.restored),
        "left_alone": list(done.left_alone),
        "worktrees": list(done.worktrees),
    }


def _report(done: Undone) -> list[str]:
    lines = []
    if done.restored:
        lines.append(f"your untracked files are as before the run again: {_names(done.restored)}")
    if done.left_alone:
        lines.append(f"changed by you since the run began, and left as they are: {_names(done.left_alone)}")
    if done.kept:
        lines.append(f"undone. The work is kept as {done.kept}: git log {done.kept}")
    else:
        lines.append("undone. The run had left no work")
    return [*lines, f"the files as they were before undo: {done.snapshot}"] if done.snapshot else lines


def _names(names: tuple[str, ...]) -> str:
    shown = 5
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


def _confirm(run: str, *, yes: bool, as_json: bool) -> None:
    """Raise unless the user confirms."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for confirmation without a terminal; nothing was changed",
            remedy=f"Undo the run without a question: bridle undo {run} --yes",
        )
    if not click.confirm("Undo the run?", default=False, err=True):
        raise UsageError("not confirmed; nothing was changed", remedy=f"To undo it later: bridle undo {run}")
