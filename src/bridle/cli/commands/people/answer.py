"""`bridle answer`: answer a breakpoint or a parked question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.people.terminal import chosen_run, json_option, print_document, runs_dir_option, show, shown_run
from bridle.errors import EffectNotFound, UsageError

if TYPE_CHECKING:
    from bridle.engine.inbox import Question
    from bridle.journal.stores.file_store import FileStore


@click.command("answer", short_help="Answer a breakpoint or a parked question.")
@click.argument("effect", required=False)
@click.argument("text", metavar='["…"]', required=False)
@click.argument("run", metavar="[RUN]", default="last")
@click.option("--approve", "approved", flag_value=True, type=bool, default=None, help="The answer is a yes.")
@click.option("--reject", "approved", flag_value=False, type=bool, help="The answer is a no.")
@click.option("--list", "lists", is_flag=True, help="Only show what waits for an answer; then the argument is RUN.")
@click.option("--resume", is_flag=True, help="Drive the run on at once.")
@runs_dir_option
@json_option
def command(
    *,
    effect: str | None,
    text: str | None,
    run: str,
    approved: bool | None,
    lists: bool,
    resume: bool,
    runs_dir: str | None,
    as_json: bool,
) -> int:
    """Answer what EFFECT of RUN asks; without EFFECT, show what waits for an answer.

    EFFECT is an effect's id or the beginning of one. Your words are kept as they are. What an agent of the loop asks
    is answered by any words; elsewhere what is neither a yes nor a no needs --approve or --reject. Silence and empty
    words never answer anything.
    """
    from bridle.engine import inbox
    from bridle.journal.stores.file_store import FileStore

    if lists or effect is None:
        folder = chosen_run(effect or "last", runs_dir)
        return _list(folder, inbox.questions(FileStore(folder)), as_json=as_json)
    if text is None and approved is None:
        raise UsageError("the answer is missing", remedy=f'bridle answer {effect} "approve", or --approve, or --reject')
    folder = chosen_run(run, runs_dir)
    store = FileStore(folder)
    effect_id = _effect_id(store, effect)
    value = inbox.answer(store, effect_id, text or "", approved=approved)
    return _go_on(folder, effect_id, value, resume=resume, as_json=as_json)


def _go_on(folder: Path, effect_id: str, value: dict[str, object], *, resume: bool, as_json: bool) -> int:
    import asyncio

    from bridle.cli.people.loop_runs import drive, is_loop

    is_ours = is_loop(folder)
    go_on = f"bridle {'resume' if is_ours else 'drive'} {shown_run(folder)}"
    if resume and is_ours:
        return asyncio.run(drive(folder, as_json=as_json))
    if resume:
        from bridle.cli.people.drive_run import Ways, drive_run
        from bridle.engine.drive.driver import DriveOptions

        return drive_run(folder, DriveOptions(), Ways(as_json))
    if as_json:
        print_document({"run": folder.name, "effectId": effect_id, "value": value, "resume": go_on})
    else:
        show(f"answered; go on with: {_in_session(folder)}{go_on}")
    return 0


def _in_session(folder: Path) -> str:
    """How a host's session goes on with the run, where it was begun by one."""
    from bridle.journal.stores.file_reader import FileReader

    return f"/bridle:resume {folder.name} in the session, or " if FileReader(folder).metadata().get("harness") else ""


def _list(folder: Path, found: list[Question], *, as_json: bool) -> int:
    if as_json:
        print_document({"run": folder.name, "questions": [question.as_json() for question in found]})
        return 0
    if not found:
        show(f"{folder.name}: nothing waits for an answer")
    for question in found:
        show(f"{question.effect_id} {question.text}")
        for option in question.options:
            show(f"  - {option}")
    return 0


def _effect_id(store: FileStore, given: str) -> str:
    """The id of the effect whose id begins so: one that waits, else any."""
    if given in store.standing().pending:
        return given
    for some in (list(store.standing().pending), list(store.state().effects)):
        matching = [name for name in some if name.startswith((given, given.upper()))]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(f"{given!r} could be any of {', '.join(matching[:5])}", remedy="Give more of the id.")
    raise EffectNotFound(f"there is no effect {given!r} in this run", remedy="bridle answer --list shows what waits.")
