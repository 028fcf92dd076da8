"""Runs that the user has not begun on this machine: what they may do, and with whose settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bridle.engine.hooks.find_hooks import repository_of
from bridle.errors import UsageError
from bridle.ground import trust
from bridle.ground.home import bridle_home
from bridle.journal.stores.file_store import FileStore
from bridle.loop.run_inputs import read_inputs

FOREIGN = "you have not begun this run on this machine: it came with the repository"
AGREE = "Read its plan and settings, which `bridle trust --show` lists, then run `bridle trust`."


def is_foreign(run: Path) -> bool:
    """Return whether a run came with its repository, by clone or archive."""
    return trust.is_shipped_run(repository_of(run), run, bridle_home(os.environ))


def is_untrusted(run: Path) -> bool:
    """Return whether a run came with its repository, and the user has not agreed to it."""
    home = bridle_home(os.environ)
    return is_foreign(run) and not trust.is_trusted(repository_of(run), home, trust.PROCESSES)


def check_foreign(run: Path) -> None:
    """Raise UsageError for a run that the user has neither begun nor agreed to."""
    if is_untrusted(run):
        raise UsageError(f"{run.name}: {FOREIGN}", remedy=f"Nothing was changed. {AGREE}")


def own_limits(run: Path) -> dict[str, Any]:
    """Return the limits of a foreign run that are above the user's own, with the user's values.

    Raises UsageError for settings that no repository may choose.
    """
    if not is_foreign(run):
        return {}
    from bridle.loop.control.changed_agents import agent_in_force
    from bridle.loop.settings.bridle_toml import load_settings  # not for `bridle status`
    from bridle.loop.settings.model import KEYS
    from bridle.loop.user_messages import UserMessageReader

    store = FileStore(run)
    inputs = read_inputs(store)
    own = load_settings(Path(inputs.repository), bridle_home(os.environ))
    settings = agent_in_force(store, inputs.settings)  # its journal may change them too
    for name, key in KEYS.items():
        value = getattr(settings, key.attribute)
        if value in key.not_in_repository and value != getattr(own, key.attribute):
            raise UsageError(
                f"{run.name}: {FOREIGN}, with {name} = {str(value)!r}, which only your own settings may have",
                remedy="Start a run of your own: bridle run PLAN",
            )
    now = UserMessageReader(store).limits_in_force(inputs.settings.limits)
    wanted = own.limits.as_json()
    return {name: wanted[name] for name, value in now.as_json().items() if value > wanted[name]}
