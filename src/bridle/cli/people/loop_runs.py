"""What the commands of the loop share: which run is meant, how it is driven, and what is printed at its end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from bridle.cli.people import notify
from bridle.cli.people.run_display import face_of
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
    """A line for the person who watches."""
    print(f"bridle: {escape_unprintable(line)}", file=sys.stderr, flush=True)


def home() -> Path:
    """The user's own folder."""
    return bridle_home(os.environ)


def chosen(argument: str | None) -> Path:
    """The run that a person means."""
    return chosen_run(argument or LAST, None)


def is_loop(run: Path) -> bool:
    """Whether it is a run of the loop, and not of some other process."""
    return FileStore(run).metadata().get("processId") == PROCESS_ID


RESUME = "bridle resume"


async def begin(
    beginning: RunRequest,
    environment: Mapping[str, str],
    *,
    introduction: Sequence[str] | None = None,
    resume: str | None = RESUME,
) -> Path:
    """Make the run, and say what is about to happen: the agents and who pays, the bounds, how to go on."""
    settings, tasks = beginning.settings, len(beginning.plan.tasks)
    if settings.notify:
        notify.check_addresses(settings.notify)
    found = introduce(settings, beginning.repository, environment)
    for line in found if introduction is None else introduction:
        say(line)
    if not settings.uses_worktrees:
        check_free(beginning.repository)
    run = await create(beginning, _runs_of(beginning.repository, environment), environment)
    say(f"run {run.name}: {tasks} {'task' if tasks == 1 else 'tasks'}; {settings.limits.words()}")
    if settings.uses_worktrees:
        at_once = f", {settings.parallel} tasks at once" if settings.parallel > 1 else ""
        say(f"working in {folder_of(beginning.repository, run.name)}{at_once}; your working copy stays as it is")
    if resume is not None:
        say(f"Ctrl-C is safe: `{resume}` goes on")
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
    """Drive a run to its end, print its receipt, send word of it, and give the exit code.

    `resume` is how this run goes on, where `bridle resume` is not the way.
    """
    outer = dict(os.environ) if environment is None else environment
    told = _addresses(run) if addresses is None else addresses
    ended = await until_signalled(_shown(run, outer, with_hooks=with_hooks))
    if ended is None:
        document = await receipt_with_pause(run)
        _tick(run, document)
        show(_with_way(document, resume), "interrupted; nothing is lost", as_json=as_json)
        return INTERRUPTED
    _tick(run, ended.receipt)
    show(_with_way(ended.receipt, resume), ended.reason, as_json=as_json)
    if told:
        await notify.send(told, ended.receipt, ended.reason, say)
    return ended.exit_code


def show(document: dict[str, Any], reason: str, *, as_json: bool) -> None:
    """Print a receipt."""
    if as_json:
        print(_as_json(document))
        return
    if sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        _paint(document, reason)
        return
    for line in receipts.plain_lines(document, reason):
        print(line)


def _tick(run: Path, document: Mapping[str, Any]) -> None:
    """Tick what is verified in the plan's file, where the person wants that."""
    inputs = FileStore(run).inputs()
    if not isinstance(inputs, dict) or not inputs["settings"].get("tick"):
        return
    plan = Plan.from_json(inputs["plan"])
    if plan.path is not None:
        tick(Path(plan.path), [task["title"] for task in document["tasks"] if task["verdict"] in VERIFIED])


def _with_way(document: dict[str, Any], resume: str | None) -> dict[str, Any]:
    return document if resume is None else {**document, "resume": resume}


def _as_json(document: dict[str, Any]) -> str:
    """One document that every reader can read, also where the name of a file in it is no text."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document)
    return text


def _runs_of(repository: Path, environment: Mapping[str, str]) -> Path:
    """Where the runs of a repository are, whatever the folder is that a person is in."""
    return runs_folder(None, {layout.RUNS_FOLDER_VARIABLE: str(repository / layout.RUNS_FOLDER), **environment})


def _addresses(run: Path) -> Sequence[str]:
    """Where to send word at the end; of a run that is complete already nobody needs to hear again."""
    store = FileStore(run)
    inputs = store.inputs()
    if store.standing().end == COMPLETED or not isinstance(inputs, dict) or "repository" not in inputs:
        return ()
    return load_settings(Path(str(inputs["repository"])), home()).notify


def _paint(document: dict[str, Any], reason: str) -> None:
    from rich.console import Console

    from bridle.views.terminal.rich_text import to_rich_text
    from bridle.views.terminal.styled_lines import BLANK

    console = Console(highlight=False, markup=False, emoji=False)
    # A command that is too long for the terminal is broken by the terminal alone, so that it can be copied.
    console.print(to_rich_text([BLANK, *receipts.styled_lines(document, reason, width=console.width)]), soft_wrap=True)


async def _shown(run: Path, environment: Mapping[str, str], *, with_hooks: bool) -> RunEnd:
    """Drive the run, and show it meanwhile."""
    async with _place_of(run), face_of(run, environment) as face:
        return await drive_run(run, environment, face.say, with_hooks=with_hooks, watch=face.watch)


def _place_of(run: Path) -> AbstractAsyncContextManager[None]:
    """The working copy that the run needs for itself, if it needs one."""
    store = FileStore(run)
    inputs = store.inputs()
    if store.standing().end == COMPLETED or not isinstance(inputs, dict) or "settings" not in inputs:
        return nullcontext()
    is_apart = Settings.from_json(inputs["settings"]).uses_worktrees
    return nullcontext() if is_apart else occupied(Path(str(inputs["repository"])), run.name)
