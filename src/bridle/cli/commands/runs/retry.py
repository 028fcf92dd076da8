"""`bridle retry`: try a task of a run again."""

from __future__ import annotations

from typing import Any

import click


@click.command("retry", short_help="Try a task of a run again.")
@click.argument("task")
@click.argument("run", required=False)
@click.option("--resume", is_flag=True, help="Continue the run at once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, task: str, run: str | None, resume: bool, as_json: bool) -> int:
    """Give TASK (its title, or a unique part of it) in RUN (default: the last run) all its tries again."""
    import asyncio

    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface import loop_runs
    from bridle.cli.user_interface.terminal import find_loop_run, print_document, say
    from bridle.engine import inbox
    from bridle.errors import UsageError
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop import user_messages
    from bridle.loop.control.current_state import read_receipt
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.control.pauses import end_pause
    from bridle.loop.effect_results import PauseResult
    from bridle.loop.process.questions import BY_RETRY, RETRY_ANSWER
    from bridle.loop.process.task_state import ACCEPTED
    from bridle.loop.undo.undo_entries import check_not_undone

    folder = find_loop_run(run)
    refuse_inside_agent("retry", folder)
    check_foreign(folder)
    check_not_undone(FileStore(folder))
    tasks = read_receipt(folder).tasks
    exact = [entry for entry in tasks if entry.title == task]
    matching = exact or [entry for entry in tasks if task.lower() in entry.title.lower()]
    if len(matching) != 1:
        titles = ", ".join(entry.title for entry in matching or tasks)
        fault = f"{task!r} matches {len(matching)} tasks" if matching else f"no task {task!r} in run {folder.name}"
        raise UsageError(fault, remedy=f"Use one of: {titles}")
    title, verdict = matching[0].title, matching[0].verdict
    if verdict in ACCEPTED:
        raise UsageError(f"{title!r} needs no retry, its verdict is: {verdict}", remedy="Nothing was changed.")

    def record(limits: dict[str, Any]) -> None:
        store = FileStore(folder)
        if matching[0].effect is not None:  # its question is answered instead
            inbox.answer(store, matching[0].effect, RETRY_ANSWER, by=BY_RETRY)
        elif not end_pause(store, PauseResult(retries=(title,), limits=limits)):
            user_messages.send(store, user_messages.RETRY, {"task": title})

    if resume:
        return asyncio.run(loop_runs.drive_to_receipt(folder, as_json=as_json, record=record))
    loop_runs.say_changed_plan(folder)
    record({})
    if as_json:
        print_document({"run": folder.name, "retry": title})
    say(f"{title!r} will be tried again; continue with: bridle resume {folder.name}")
    return 0
