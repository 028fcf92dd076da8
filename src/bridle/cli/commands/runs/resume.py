"""`bridle resume`: continue a run after a crash, an interruption or a limit."""

from __future__ import annotations

from typing import Any

import click

from bridle.cli.user_interface.options import limit_options, sandbox_option_of_resume


@click.command("resume", short_help="Continue a run after a crash, an interruption or a limit.")
@click.argument("run", required=False)
@sandbox_option_of_resume
@limit_options
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(*, run: str | None, no_hooks: bool, as_json: bool, sandbox: str | None, **flags: Any) -> int:
    """Continue RUN (default: the last run) where it stopped; you can set new limits."""
    import asyncio

    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface import loop_runs
    from bridle.cli.user_interface.terminal import find_loop_run
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.control.pauses import end_pause
    from bridle.loop.effect_results import PauseResult
    from bridle.loop.settings.bridle_toml import read_flags

    limits = read_flags(flags)
    folder = find_loop_run(run)
    refuse_inside_agent("resume", folder)
    check_foreign(folder)

    def record(changed: dict[str, Any]) -> None:
        store = FileStore(folder)
        if _may_continue(store, has_new_limits=bool(changed)):
            end_pause(store, PauseResult(limits=changed))

    return asyncio.run(
        loop_runs.drive_to_receipt(
            folder, as_json=as_json, with_hooks=not no_hooks, sandbox=sandbox, limits=limits, record=record
        )
    )


def _may_continue(store: Any, *, has_new_limits: bool) -> bool:
    """Return whether a pause ends: at a limit only with new limits, else if its cause may be gone."""
    from bridle.loop import effects
    from bridle.loop.control.pauses import pending_pause

    paused = pending_pause(store)
    if paused is None:
        return False
    may_be_gone = (effects.WHY_UNUSABLE, effects.WHY_SETUP, effects.WHY_BUDGET, effects.WHY_USAGE)
    return paused.why in may_be_gone or (paused.why == effects.WHY_LIMIT and has_new_limits)
