"""`bridle answer`: answer a breakpoint or an agent's question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.user_interface.options import json_option, plugin_root_option, runs_dir_option
from bridle.cli.user_interface.terminal import chosen_run, print_document, say, show, shown_run
from bridle.errors import EffectNotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bridle.cli.user_interface.drive_run import CommandOptions
    from bridle.cli.user_interface.open_questions import OpenQuestions
    from bridle.journal.stores.file_store import FileStore


@click.command("answer", short_help="Answer a breakpoint or an agent's question.")
@click.argument("question", required=False)
@click.argument("text", metavar='["…"]', required=False)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--approve", "approved", flag_value=True, type=bool, default=None, help="Approve.")
@click.option("--reject", "approved", flag_value=False, type=bool, default=None, help="Reject.")
@click.option("--list", "lists", is_flag=True, help="List the open questions; then the argument is RUN.")
@click.option("--resume", is_flag=True, help="Continue the run at once.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@plugin_root_option
@runs_dir_option
@json_option
def command(
    *,
    question: str | None,
    text: str | None,
    run: str | None,
    approved: bool | None,
    lists: bool,
    resume: bool,
    no_hooks: bool,
    plugin_root: Path | None,
    runs_dir: str | None,
    as_json: bool,
) -> int:
    """Answer QUESTION in RUN; without QUESTION, list the open questions. Without RUN, of all runs here.

    QUESTION is the title of the task that asks, a unique part of it, an effect's id or a unique prefix of it. Where
    only one question is open, the text alone answers it. Your text is kept as it is. Any text answers a question of an
    agent of the loop; elsewhere a text that is neither a yes nor a no needs --approve or --reject. An empty text never
    answers anything.
    """
    from bridle.cli.machine_interface.fire_hooks import fire_hooks_of_run
    from bridle.cli.user_interface.open_questions import name_question, questions_of, waiting_runs
    from bridle.engine import inbox
    from bridle.engine.hooks.find_hooks import ON_TASK_COMPLETE
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.run_inputs import is_loop_run
    from bridle.wire.events.surrogates import replace_surrogates

    if lists or (question is None and approved is None):
        waiting = waiting_runs(runs_dir) if question is None else []
        folder = chosen_run(question or "last", runs_dir)
        return _list(waiting or [questions_of(folder)], folder, as_json=as_json)
    try:
        folder, effect_id, text = name_question(question, text, run, runs_dir, has_flag=approved is not None)
    except (EffectNotFound, UsageError):
        _refuse(chosen_run(run or "last", runs_dir), resumes=resume)  # that an agent asked is reported either way
        raise
    _refuse(folder, resumes=resume)
    store = FileStore(folder)
    said = None if text is None else replace_surrogates(text)  # an argument that is not UTF-8
    value = inbox.check_answer(store, effect_id, said, approved=approved)

    def record() -> None:
        answered = inbox.answer(store, effect_id, said, approved=approved)
        if answered.resolution is not None and not no_hooks:
            fire_hooks_of_run(folder, ON_TASK_COMPLETE, answered.resolution.data, plugin_root=plugin_root)

    if resume:
        from bridle.cli.user_interface.drive_run import CommandOptions

        return _resume(store, record, CommandOptions(as_json, hooks=not no_hooks, plugin_root=plugin_root))
    record()
    next_command = f"bridle {'resume' if is_loop_run(store) else 'drive'} {shown_run(folder)}"
    if as_json:
        print_document({"run": folder.name, "effectId": effect_id, "value": value, "resume": next_command})
    else:
        show(f"answered; continue with: {_in_session(folder)}{next_command}")
    return 0


def _refuse(folder: Path, *, resumes: bool) -> None:
    """Raise UsageError inside an agent, and for a run of the loop that was not begun here."""
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.run_inputs import is_loop_run
    from bridle.loop.undo.undo_entries import check_not_undone

    refuse_inside_agent("answer", folder)
    check_not_undone(FileStore(folder))
    if resumes or is_loop_run(FileStore(folder)):  # else nothing is started, and another program's run can be answered
        check_foreign(folder)


def _resume(store: FileStore, record: Callable[[], None], options: CommandOptions) -> int:
    """Record the answer and drive the run; where that is refused, nothing is recorded."""
    import asyncio
    import os

    from bridle.loop.run_inputs import is_loop_run

    if is_loop_run(store):
        from bridle.cli.user_interface.loop_runs import drive_to_receipt

        return asyncio.run(
            drive_to_receipt(store.run, as_json=options.as_json, with_hooks=options.hooks, record=lambda _: record())
        )
    from bridle.cli.user_interface.chosen_sandbox import sandbox_for
    from bridle.cli.user_interface.drive_run import drive_and_report
    from bridle.engine.drive.agent_request import AgentDefaults
    from bridle.engine.drive.driver import DriveOptions
    from bridle.engine.drive.wait_for_driver import check_no_driver
    from bridle.engine.hooks.find_hooks import repository_of
    from bridle.run.isolation.choose_sandbox import VARIABLE

    agents = AgentDefaults(sandbox=sandbox_for(repository_of(store.run), os.environ.get(VARIABLE) or None, say))
    asyncio.run(check_no_driver(store.run))
    record()
    return drive_and_report(store.run, DriveOptions(agents=agents), options)


def _in_session(folder: Path) -> str:
    """Return how to continue in a session, for a run that a host's session drives."""
    from bridle.journal.stores.file_reader import FileReader

    return f"/bridle:resume {folder.name} in the session, or " if FileReader(folder).metadata().harness else ""


def _list(runs: list[OpenQuestions], last: Path, *, as_json: bool) -> int:
    """Print the open questions of runs, the first of which a program gets first."""
    if as_json:
        first, *others = (
            {"run": run.name, "questions": [question.as_json() for question in questions]} for run, questions in runs
        )
        print_document({**first, "otherRuns": others} if others else first)
        return 0
    for run, questions in runs:
        if not questions:
            show(f"{run.name}: no open questions")
        elif runs != [(last, questions)]:
            show(f"run {shown_run(run)}:")
        for question in questions:
            task = "" if question.task is None else f"{' '.join(question.task.split())}: "
            show(f"{question.effect_id} {task}{question.text}")
            for option in question.options:
                show(f"  - {option}")
    return 0
