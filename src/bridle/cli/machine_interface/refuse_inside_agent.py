"""Commands that steer a run are for the user: they refuse when an agent or a check calls them."""

from __future__ import annotations

import os
from pathlib import Path

from bridle.errors import Error, InsideAgent

SIGN = "receipt --sign"


def refuse_inside_agent(command: str, run: Path | None = None) -> None:
    """Raise InsideAgent if an agent or a check is above this process; the journal of the run records the attempt.

    Without a run, that of the last run in this repository does. Runs in a repository that the agent has made itself,
    with a BRIDLE_HOME of its own, are not refused; a signature is, since it needs a key of the user.
    """
    from bridle.ground.descendants.enclosing_agent import is_inside_agent

    if not is_inside_agent(os.environ):
        return
    if command != SIGN:
        from bridle.cli.machine_interface.agents_own_runs import is_of_this_agent

        if is_of_this_agent(run):
            return
    _record(command, run)
    raise InsideAgent(
        f"bridle {command} steers a run, and an agent or a check of a run called it",
        remedy="Nothing was changed. Ask the user to run this command; status, show and audit are allowed.",
    )


def _record(command: str, run: Path | None) -> None:
    from bridle.engine.entries import refused_commands

    try:
        is_recorded = refused_commands.record(_last_run() if run is None else run, (command,))
    except (Error, OSError):
        is_recorded = False
    if not is_recorded:  # in a sandbox the journal cannot be written, and so not be changed by any command
        from bridle.run.isolation import refusals

        refusals.leave(command)


def _last_run() -> Path:
    from bridle.journal.stores.find_run import LAST, choose_run, runs_folders

    return choose_run(LAST, *runs_folders(None, {}))
