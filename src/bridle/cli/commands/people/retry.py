"""`bridle retry`: try a task of a run again."""

from __future__ import annotations

import json

import click


@click.command("retry", short_help="Try a task of a run again.")
@click.argument("task")
@click.argument("run", required=False)
@click.option("--resume", "goes_on", is_flag=True, help="Go on with the run at once.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, task: str, run: str | None, goes_on: bool, as_json: bool) -> int:
    """Give TASK (its title, or a part of it that is no other's) all its tries again, in RUN (default: the last one)."""
    import asyncio

    from bridle.cli.people import loop_runs
    from bridle.errors import UsageError
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop import user_messages
    from bridle.loop.control.runs import receipt_with_pause, release
    from bridle.loop.process.task_state import GOOD

    folder = loop_runs.chosen(run)
    receipt = asyncio.run(receipt_with_pause(folder))
    tasks = receipt.get("tasks", [])
    exact = [one for one in tasks if one["title"] == task]
    found = exact or [one for one in tasks if task.lower() in one["title"].lower()]
    if len(found) != 1:
        titles = ", ".join(one["title"] for one in found or tasks)
        fault = f"{task!r} means {len(found)} tasks" if found else f"no task of this run is called {task!r}"
        raise UsageError(fault, remedy=f"Give one of: {titles}")
    if found[0]["verdict"] in GOOD:
        raise UsageError(f"{found[0]['title']!r} is {found[0]['verdict']} already", remedy="Nothing was changed.")
    store, title = FileStore(folder), found[0]["title"]
    if not release(store, {"retries": [title]}):
        user_messages.say(store, user_messages.RETRY, {"task": title})
    if goes_on:
        return asyncio.run(loop_runs.drive(folder, as_json=as_json))
    if as_json:
        click.echo(json.dumps({"run": folder.name, "retry": title}))
    loop_runs.say(f"{title!r} will be tried again: bridle resume {folder.name}")
    return 0
