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
    from bridle.engine.inbox import Question
    from bridle.journal.stores.file_store import FileStore

# The newest runs that are searched for open questions.
SEARCHED_RUNS = 100


@click.command("answer", short_help="Answer a breakpoint or an agent's question.")
@click.argument("effect", required=False)
@click.argument("text", metavar='["…"]', required=False)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--approve", "approved", flag_value=True, type=bool, default=None, help="Approve.")
@click.option("--reject", "approved", flag_value=False, type=bool, help="Reject.")
@click.option("--list", "lists", is_flag=True, help="List the open questions; then the argument is RUN.")
@click.option("--resume", is_flag=True, help="Continue the run at once.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@plugin_root_option
@runs_dir_option
@json_option
def command(
    *,
    effect: str | None,
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
    """Answer the question of EFFECT in RUN; without EFFECT, list the open questions. Without RUN, of all runs here.

    EFFECT is an effect's id or a unique prefix of it. Your text is kept as it is. Any text answers a question of an
    agent of the loop; elsewhere a text that is neither a yes nor a no needs --approve or --reject. An empty text
    never answers anything.
    """
    from bridle.cli.machine_interface.fire_hooks import fire_hooks_of_run
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.engine import inbox
    from bridle.engine.hooks.find_hooks import ON_TASK_COMPLETE
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.run_inputs import is_loop_run
    from bridle.wire.events.surrogates import replace_surrogates

    if lists or effect is None:
        waiting = _waiting_runs(runs_dir) if effect is None else []
        folder = chosen_run(effect or "last", runs_dir)
        return _list(waiting or [(folder, inbox.questions(FileStore(folder)))], folder, as_json=as_json)
    folder = chosen_run(run, runs_dir) if run is not None else _run_of(effect, runs_dir)
    if text is None and approved is None:
        effect_id = _effect_id(FileStore(folder), effect)
        raise UsageError(
            "the answer is missing", remedy=f'Run `bridle answer {effect_id} "approve"`, or pass --approve or --reject.'
        )
    refuse_inside_agent("answer", folder)
    store = FileStore(folder)
    if resume or is_loop_run(store):  # else nothing is started, and a run of another program can be answered
        check_foreign(folder)
    effect_id = _effect_id(store, effect)
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


def _waiting_runs(runs_dir: str | None) -> list[tuple[Path, list[Question]]]:
    """Return the runs here that have open questions, newest first."""
    import os

    from bridle.engine import inbox
    from bridle.errors import Error
    from bridle.journal.stores.file_store import FileStore
    from bridle.journal.stores.find_run import newest_runs, runs_folders

    waiting: list[tuple[Path, list[Question]]] = []
    for run in newest_runs(*runs_folders(runs_dir, os.environ))[:SEARCHED_RUNS]:
        folder, questions = Path(run), []
        try:
            store = FileStore(folder)
            if store.position().end is None:
                questions = inbox.questions(store)
        except Error:
            continue  # the command that names it reports why it cannot be read
        if questions:
            waiting.append((folder, questions))
    return waiting


def _run_of(effect: str, runs_dir: str | None) -> Path:
    """Return the run that asks this question; the last run where none does."""
    from bridle.journal.stores.find_run import LAST

    asking = [
        run
        for run, questions in _waiting_runs(runs_dir)
        if any(question.effect_id.startswith((effect, effect.upper())) for question in questions)
    ]
    if len(asking) > 1:
        names = ", ".join(run.name for run in asking[:5])
        raise UsageError(f"{effect!r} could be a question of any of these runs: {names}", remedy="Use a longer prefix.")
    return asking[0] if asking else chosen_run(LAST, runs_dir)


def _list(runs: list[tuple[Path, list[Question]]], last: Path, *, as_json: bool) -> int:
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
            show(f"{question.effect_id} {question.text}")
            for option in question.options:
                show(f"  - {option}")
    return 0


def _effect_id(store: FileStore, prefix: str) -> str:
    """Return the effect's id that begins with a prefix: a pending one, else any."""
    if prefix in store.position().pending:
        return prefix
    for ids in (list(store.position().pending), list(store.state().effects)):
        matching = [effect_id for effect_id in ids if effect_id.startswith((prefix, prefix.upper()))]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(f"{prefix!r} is ambiguous: {', '.join(matching[:5])}", remedy="Use a longer prefix.")
    from bridle.engine import inbox

    raise EffectNotFound(
        f"no effect {prefix!r} in run {store.run.name}", remedy=_how_to_name(inbox.questions(store), prefix)
    )


def _how_to_name(questions: list[Question], text: str) -> str:
    """Return what to do where a question's id was expected and something else, such as the answer, was found."""
    import shlex

    if len(questions) != 1:
        return "Run `bridle answer --list` for the open questions."
    return f"The question comes first: bridle answer {questions[0].effect_id} {shlex.quote(text)}"
