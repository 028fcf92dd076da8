"""`bridle resume`: continue a run after a crash, an interruption or a limit."""

from __future__ import annotations

from typing import Any

import click

from bridle.cli.user_interface.options import (
    agent_options,
    auth_option,
    limit_options,
    listed_agents,
    sandbox_option_of_resume,
)


@click.command("resume", short_help="Continue a run after a crash, an interruption or a limit.")
@click.argument("run", required=False)
@agent_options
@auth_option
@sandbox_option_of_resume
@limit_options
@click.option("--replan", is_flag=True, help="Take the plan as it is now for what is not done.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--json", "as_json", is_flag=True, help="Print the receipt as one JSON document on stdout.")
def command(*, run: str | None, replan: bool, no_hooks: bool, as_json: bool, sandbox: str | None, **flags: Any) -> int:
    """Continue RUN (default: the last run) where it stopped; you can set new limits, and choose other agents, another
    model, reasoning or auth. All of it is journaled, and counts until the run ends.

    A run keeps the plan that it began with, and says if the file has changed. With --replan it takes the new one: tasks
    are matched by their titles, what is done stays done, and open tasks get all their tries again.
    """
    import asyncio

    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface import loop_runs
    from bridle.cli.user_interface.terminal import find_loop_run, say
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop import user_messages
    from bridle.loop.control.changed_agents import AGENT_SETTINGS
    from bridle.loop.control.foreign_runs import check_foreign
    from bridle.loop.control.new_plan import read_new_plan
    from bridle.loop.control.pauses import deliver_user_messages, end_pause
    from bridle.loop.effect_results import PauseResult
    from bridle.loop.run_inputs import REPLAN
    from bridle.loop.settings.bridle_toml import read_flags

    changed = read_flags(listed_agents(flags))
    agent = {name: value for name, value in changed.items() if name in AGENT_SETTINGS}
    limits = {name: value for name, value in changed.items() if name not in AGENT_SETTINGS}
    folder = find_loop_run(run)
    refuse_inside_agent("resume", folder)
    check_foreign(folder)

    new_plan = read_new_plan(folder, say) if replan else None

    def record(changed_limits: dict[str, Any]) -> None:
        store = FileStore(folder)
        if new_plan is not None:
            user_messages.send(store, REPLAN, {"plan": new_plan.as_json()})
            deliver_user_messages(store)
        if _may_continue(store, has_new_limits=bool(changed_limits)):
            end_pause(store, PauseResult(limits={**changed_limits, **agent}))

    return asyncio.run(
        loop_runs.drive_to_receipt(
            folder,
            as_json=as_json,
            with_hooks=not no_hooks,
            sandbox=sandbox,
            limits=limits,
            agent=agent,
            record=record,
            new_plan=new_plan,
        )
    )


def _may_continue(store: Any, *, has_new_limits: bool) -> bool:
    """Return whether a pause ends: at a limit only with new limits, else if its cause may be gone."""
    from bridle.loop import effects
    from bridle.loop.control.pauses import pending_pause

    paused = pending_pause(store)
    if paused is None:
        return False
    may_be_gone = (
        *(effects.WHY_UNUSABLE, effects.WHY_SETUP, effects.WHY_PLAN),
        *(effects.WHY_BUDGET, effects.WHY_USAGE),
    )
    return paused.why in may_be_gone or (paused.why == effects.WHY_LIMIT and has_new_limits)
