"""What the commands of the loop share: finding a run, creating it, driving it, printing its receipt."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from bridle.cli.people import notify
from bridle.cli.people.run_display import display_for
from bridle.cli.people.terminal import chosen_run, until_signalled
from bridle.engine.iterate.iteration_report import COMPLETED
from bridle.ground.home import bridle_home
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.find_run import LAST, runs_folder
from bridle.loop.control.announce_agents import introduce
from bridle.loop.control.runs import INTERRUPTED, PROCESS_ID, RunEnd, RunRequest, create, drive_run, receipt_with_pause
from bridle.loop.plan.model import Plan
from bridle.loop.plan.tick_boxes import tick
from bridle.loop.process.receipt import VERIFIED
from bridle.loop.settings.bridle_toml import load_settings
from bridle.loop.settings.model import Settings
from bridle.loop.working_copy.run_lock import check_free, occupied
from bridle.loop.working_copy.run_worktrees import folder_of
from bridle.views.terminal import receipt as receipts
from bridle.views.terminal.escape_controls import escape_unprintable


def say(line: str) -> None:
    """Print a message on stderr."""
    print(f"bridle: {escape_unprintable(line)}", file=sys.stderr, flush=True)


def find_run(argument: str | None) -> Path:
    """Return the folder of the run that the user named, or of the last one."""
    return chosen_run(argument or LAST, None)


def is_loop(run: Path) -> bool:
    """Return whether a run is one of the loop, not of another process."""
    return FileStore(run).metadata().get("processId") == PROCESS_ID


RESUME = "bridle resume"


async def create_run(
    request: RunRequest,
    environment: Mapping[str, str],
    *,
    introduction: Sequence[str] | None = None,
    resume: str | None = RESUME,
) -> Path:
    """Create the run and print its agents, what pays, its limits and how to resume it."""
    settings, tasks = request.settings, len(request.plan.tasks)
    if settings.notify:
        notify.check_addresses(settings.notify)
    agents = introduce(settings, request.repository, environment)
    for line in agents if introduction is None else introduction:
        say(line)
    if not settings.uses_worktrees:
        check_free(request.repository)
    run = await create(request, _runs_of(request.repository, environment), environment)
    say(f"run {run.name}: {tasks} {'task' if tasks == 1 else 'tasks'}; {settings.limits.words()}")
    if settings.uses_worktrees:
        at_once = f", {settings.parallel} tasks at once" if settings.parallel > 1 else ""
        say(f"working in {folder_of(request.repository, run.name)}{at_once}; your working copy is not touched")
    if resume is not None:
        say(f"Ctrl-C is safe: `{resume}` continues the run")
    return run


async def drive(
    run: Path,
    *,
    as_json: bool,
    with_hooks: bool = True,
    environment: Mapping[str, str] | None = None,
    addresses: Sequence[str] | None = None,
    resume: str | None = None,
) -> int:
    """Drive a run to its end, print its receipt, notify, and return the exit code.

    `resume` is the command that continues this run, if it is not `bridle resume`.
    """
    variables = dict(os.environ) if environment is None else environment
    notified = _addresses(run) if addresses is None else addresses
    ended = await until_signalled(_drive_with_display(run, variables, with_hooks=with_hooks))
    if ended is None:
        document = await receipt_with_pause(run)
        _tick(run, document)
        show(_with_resume(document, resume), "interrupted; nothing is lost", as_json=as_json)
        return INTERRUPTED
    _tick(run, ended.receipt)
    show(_with_resume(ended.receipt, resume), ended.reason, as_json=as_json)
    if notified:
        await notify.send(notified, ended.receipt, ended.reason, say)
    return ended.exit_code


def show(document: dict[str, Any], reason: str, *, as_json: bool) -> None:
    """Print a receipt."""
    if as_json:
        print(_as_json(document))
        return
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        _print_coloured(document, reason)
        return
    for line in receipts.plain_lines(document, reason):
        print(line)


def _tick(run: Path, document: Mapping[str, Any]) -> None:
    """Tick verified tasks in the plan's file, if the settings ask for it."""
    inputs = FileStore(run).inputs()
    if not isinstance(inputs, dict) or not inputs["settings"].get("tick"):
        return
    plan = Plan.from_json(inputs["plan"])
    if plan.path is not None:
        tick(Path(plan.path), [task["title"] for task in document["tasks"] if task["verdict"] in VERIFIED])


def _with_resume(document: dict[str, Any], resume: str | None) -> dict[str, Any]:
    return document if resume is None else {**document, "resume": resume}


def _as_json(document: dict[str, Any]) -> str:
    """Return the document as JSON, escaped if it contains file names that are not UTF-8."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document)
    return text


def _runs_of(repository: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder of a repository's runs, whatever the current folder is."""
    return runs_folder(None, {layout.RUNS_FOLDER_VARIABLE: str(repository / layout.RUNS_FOLDER), **environment})


def _addresses(run: Path) -> Sequence[str]:
    """Return the addresses to notify; none for a run that has completed already."""
    store = FileStore(run)
    inputs = store.inputs()
    if store.standing().end == COMPLETED or not isinstance(inputs, dict) or "repository" not in inputs:
        return ()
    return load_settings(Path(str(inputs["repository"])), bridle_home(os.environ)).notify


def _print_coloured(document: dict[str, Any], reason: str) -> None:
    from rich.console import Console

    from bridle.views.terminal.rich_text import to_rich_text
    from bridle.views.terminal.styled_lines import BLANK

    console = Console(highlight=False, markup=False, emoji=False)
    # Let the terminal wrap long lines, so that a command in them can be copied.
    console.print(to_rich_text([BLANK, *receipts.styled_lines(document, reason, width=console.width)]), soft_wrap=True)


async def _drive_with_display(run: Path, environment: Mapping[str, str], *, with_hooks: bool) -> RunEnd:
    """Drive the run and show its progress."""
    async with _working_copy(run), display_for(run, environment) as display:
        return await drive_run(run, environment, display.say, with_hooks=with_hooks, watch=display.watch)


def _working_copy(run: Path) -> AbstractAsyncContextManager[None]:
    """Lock the working copy, if the run works in it."""
    store = FileStore(run)
    inputs = store.inputs()
    if store.standing().end == COMPLETED or not isinstance(inputs, dict) or "settings" not in inputs:
        return nullcontext()
    has_worktree = Settings.from_json(inputs["settings"]).uses_worktrees
    return nullcontext() if has_worktree else occupied(Path(str(inputs["repository"])), run.name)
