"""`bridle resume`: go on with a run after a crash, an interruption or a limit."""

from __future__ import annotations

from typing import Any

import click

from bridle.cli.commands.people.run import limit_options


@click.command("resume", short_help="Go on with a run after a crash or an interruption.")
@click.argument("run", required=False)
@limit_options
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(*, run: str | None, no_hooks: bool, as_json: bool, **flags: Any) -> int:
    """Go on with RUN (default: the last one) at the place where it stopped; other bounds can be given."""
    import asyncio

    from bridle.cli.people import loop_runs
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop import user_messages
    from bridle.loop.control import runs
    from bridle.loop.settings.bridle_toml import read_flags

    said = read_flags(flags)
    folder = loop_runs.chosen(run)
    store = FileStore(folder)
    if said:
        user_messages.say(store, user_messages.LIMITS, said)
    if _may_go_on(store, has_bounds=bool(said)):
        runs.release(store, {"limits": said})
    return asyncio.run(loop_runs.drive(folder, as_json=as_json, with_hooks=not no_hooks))


def _may_go_on(store: Any, *, has_bounds: bool) -> bool:
    """Whether a pause ends: at a limit with other bounds; at once where time or a person may have mended it."""
    from bridle.loop import effects

    state = store.state()
    for effect_id, one in state.standing.pending.items():
        if one.kind == effects.PAUSE:
            why = (store.task(effect_id).get("inputs") or {}).get("why")
            at_once = (effects.WHY_UNUSABLE, effects.WHY_SETUP, effects.WHY_BUDGET, effects.WHY_USAGE)
            return why in at_once or (why == effects.WHY_LIMIT and has_bounds)
    return False
