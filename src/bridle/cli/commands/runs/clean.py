"""`bridle clean`: remove old logs and runs, by age, after asking."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.loop.control.clean_runs import OldItems
    from bridle.workspace.git import Git

# How many runs are listed before the question.
_LISTED = 20


@click.command("clean", short_help="Remove old logs and runs, by age, after asking.")
@click.option("--keep", metavar="DURATION", help="Keep what is newer: 90s, 15m, 8h, 30d.  [default: 30d]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="List what would be removed and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, keep: str | None, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Remove old logs and runs of this repository.

    Removes files in .ralph/logs, run folders with their worktrees and snapshots (of this folder and those above it up
    to the repository's top), and the plugin's session files that are bound to no run. Keeps branches, commits and
    everything else, every run that is running, and every run that has changes of yours: in its worktrees, or put aside
    for it. Each of these is named with the reason and what to do.
    """
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface.terminal import print_document, top_of
    from bridle.ground import clock
    from bridle.ground.home import bridle_home
    from bridle.hosts.sessions import expired_sessions
    from bridle.journal.stores.find_run import runs_folders
    from bridle.loop.control.clean_runs import find_old
    from bridle.loop.settings.bridle_toml import load_settings

    if not dry_run:
        refuse_inside_agent("clean")
    settings = load_settings(Path.cwd(), bridle_home(os.environ), {"keep": keep})
    top = top_of(Path.cwd())
    before = clock.now().timestamp() - settings.keep_seconds
    folders = runs_folders(None, os.environ)
    reasons = _find_reasons(find_old(top, folders, before=before), top)
    old = find_old(top, folders, before=before, kept=reasons)
    sessions = expired_sessions.find(_state_folders(top), before=before)
    document: dict[str, Any] = {
        "logs": len(old.logs),
        "runs": [run.path.name for run in old.runs],
        "sessions": len(sessions),
        "bytes": old.size_bytes,
        "removed": False,
        "kept": [f"{run}: {reason}" for run, reason in reasons.items()],
    }
    for kept in document["kept"]:
        click.echo(f"bridle: kept: {kept}", err=True)
    if not (old.logs or old.runs or old.leftovers or sessions):
        click.echo(
            f"bridle: nothing {'else ' if reasons else ''}is older than {_days(settings.keep_seconds)}", err=True
        )
    else:
        for line in _listing(old, len(sessions), settings.keep_seconds):
            click.echo(line, err=True)
        if not dry_run:
            _confirm(yes=yes, as_json=as_json)
            cleaned = _remove(old, top)
            document |= cleaned | {"kept": [*document["kept"], *cleaned["kept"]]}
            document["sessions"] = expired_sessions.remove(sessions, before=before)
            click.echo(f"bridle: removed {_format_counts(document)}", err=True)
    if not dry_run:
        expired_sessions.remove_records(os.environ)
    if as_json:
        print_document(document)
    return 0


def _find_reasons(old: OldItems, top: Path) -> dict[str, str]:
    """Return the old runs that stay, each with the reason."""
    from bridle.loop.control import user_work
    from bridle.loop.control.clean_runs import find_running

    git = _git(top)
    work = {} if git is None else asyncio.run(user_work.find(git, [run.path.name for run in old.runs]))
    return work | find_running(old.runs)


def _git(top: Path) -> Git | None:
    from bridle.workspace.git import Git

    return Git(top) if (top / ".git").exists() else None


def _remove(old: OldItems, top: Path) -> dict[str, Any]:
    from bridle.loop.control.clean_runs import remove

    cleaned = asyncio.run(remove(old, _git(top)))
    for reason in cleaned.kept:
        click.echo(f"bridle: kept: {reason}", err=True)
    return {"removed": True, "logs": cleaned.logs, "runs": list(cleaned.runs), "kept": list(cleaned.kept)}


def _state_folders(top: Path) -> list[Path]:
    """List the folders of session files: of the plugins, and of a project without one."""
    from bridle.hosts.install.locations import candidates
    from bridle.hosts.sessions.session_file import PLUGIN_STATE, PROJECT_STATE

    return [top / PROJECT_STATE, *(root / PLUGIN_STATE for root in candidates(top, os.environ))]


def _format_counts(document: dict[str, Any]) -> str:
    logs, runs, sessions = document["logs"], len(document["runs"]), document["sessions"]
    return f"{_count(logs, 'log')}, {_count(runs, 'run')} and {_count(sessions, 'session file')}"


def _listing(old: OldItems, sessions: int, keep_seconds: float) -> list[str]:
    counts = _format_counts({"logs": len(old.logs), "runs": old.runs, "sessions": sessions})
    lines = [f"older than {_days(keep_seconds)}: {counts}, {old.size_bytes / 1_000_000:.1f} MB"]
    lines += [f"  run {run.path.name}, last changed {_date(run.changed_at)}" for run in old.runs[:_LISTED]]
    return [*lines, f"  … and {len(old.runs) - _LISTED} more"] if len(old.runs) > _LISTED else lines


def _confirm(*, yes: bool, as_json: bool) -> None:
    """Raise unless the user confirms."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise UsageError(
            "cannot ask for confirmation without a terminal; nothing was removed",
            remedy="Run `bridle clean --dry-run` to list what is old, or `bridle clean --yes` to remove it.",
        )
    if not click.confirm("Remove them?", default=False, err=True):
        raise UsageError(
            "not confirmed; nothing was removed",
            remedy="To keep more, run it again with a longer --keep, such as `bridle clean --keep 90d`.",
        )


def _date(seconds: float) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def _days(seconds: float) -> str:
    from bridle.loop.text.durations import render_duration

    return (
        _count(int(seconds // 86400), "day") if seconds >= 86400 and seconds % 86400 == 0 else render_duration(seconds)
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
