"""`bridle clean`: remove old logs and runs, by age, asked first."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.loop.control.clean_runs import Old

# Of the runs that are listed before the question.
_SHOWN = 20


@click.command("clean", short_help="Remove old logs and runs, by age, asked first.")
@click.option("--keep", metavar="DURATION", help="What is younger stays: 90s, 15m, 8h, 30d.  [default: 30d]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, keep: str | None, yes: bool, dry_run: bool, as_json: bool) -> int:
    """Remove logs and runs of this repository that nobody has changed for long.

    Only files of .ralph/logs, run folders, the worktrees and snapshots of those runs, and the plugin's files of
    sessions that hold no run go. Branches, commits and everything else stay, and so does a run that somebody is at
    work on.
    """
    from bridle.cli.people.terminal import runs_here, top_of
    from bridle.ground import clock
    from bridle.ground.home import bridle_home
    from bridle.hosts.sessions import expired_sessions
    from bridle.loop.control.clean_runs import find_old
    from bridle.loop.settings.bridle_toml import load_settings

    settings = load_settings(Path.cwd(), bridle_home(os.environ), {"keep": keep})
    top = top_of(Path.cwd())
    before = clock.now().timestamp() - settings.keep_seconds
    old = find_old(top, runs_here(), before=before)
    sessions = expired_sessions.find(_state_folders(top), before=before)
    document: dict[str, Any] = {
        "logs": len(old.logs),
        "runs": [run.path.name for run in old.runs],
        "sessions": len(sessions),
        "bytes": old.size_bytes,
        "removed": False,
        "kept": [],
    }
    if not (old.logs or old.runs or old.leftovers or sessions):
        click.echo(f"bridle: nothing here is older than {_days(settings.keep_seconds)}", err=True)
    else:
        for line in _told(old, len(sessions), settings.keep_seconds):
            click.echo(line, err=True)
        if not dry_run:
            _ask(yes=yes, as_json=as_json)
            document |= _remove(old, top) | {"sessions": expired_sessions.remove(sessions, before=before)}
            click.echo(f"bridle: removed {_all(document)}", err=True)
    if as_json:
        click.echo(json.dumps(document))
    return 0


def _remove(old: Old, top: Path) -> dict[str, Any]:
    from bridle.loop.control.clean_runs import remove
    from bridle.workspace.git import Git

    cleaned = asyncio.run(remove(old, Git(top) if (top / ".git").exists() else None))
    for words in cleaned.kept:
        click.echo(f"bridle: left alone: {words}", err=True)
    return {"removed": True, "runs": list(cleaned.runs), "kept": list(cleaned.kept)}


def _state_folders(top: Path) -> list[Path]:
    """Where the files of sessions are: in the plugins, and in a project without one."""
    from bridle.hosts.install.locations import candidates
    from bridle.hosts.sessions.session_file import PLUGIN_STATE, PROJECT_STATE

    return [top / PROJECT_STATE, *(root / PLUGIN_STATE for root in candidates(top, os.environ))]


def _all(document: dict[str, Any]) -> str:
    logs, runs, sessions = document["logs"], len(document["runs"]), document["sessions"]
    return f"{_count(logs, 'log')}, {_count(runs, 'run')} and {_count(sessions, 'file')} of sessions"


def _told(old: Old, sessions: int, keep_seconds: float) -> list[str]:
    counted = _all({"logs": len(old.logs), "runs": old.runs, "sessions": sessions})
    lines = [f"older than {_days(keep_seconds)}: {counted}, {old.size_bytes / 1_000_000:.1f} MB"]
    lines += [f"  run {run.path.name}, last changed {_moment(run.changed_at)}" for run in old.runs[:_SHOWN]]
    return [*lines, f"  … and {len(old.runs) - _SHOWN} more"] if len(old.runs) > _SHOWN else lines


def _ask(*, yes: bool, as_json: bool) -> None:
    """Go on only if somebody says yes."""
    if yes:
        return
    if as_json or not sys.stdin.isatty():
        raise UsageError("nobody is there to ask, and nothing was removed", remedy="Use --yes, or --dry-run to look.")
    if not click.confirm("Remove them?", default=False, err=True):
        raise UsageError("nothing was removed")


def _moment(seconds: float) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def _days(seconds: float) -> str:
    from bridle.loop.text.durations import format_duration

    return (
        _count(int(seconds // 86400), "day") if seconds >= 86400 and seconds % 86400 == 0 else format_duration(seconds)
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
