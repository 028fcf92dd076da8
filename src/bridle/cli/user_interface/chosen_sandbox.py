"""The sandbox of a command: chosen by flag, variable and settings, and described in one line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec.structs import replace

from bridle.errors import UsageError
from bridle.ground.home import bridle_home
from bridle.loop.settings.bridle_toml import load_settings
from bridle.run.isolation.choose_sandbox import VARIABLE, check_owner, choose_sandbox
from bridle.run.isolation.sandbox_rules import AUTO, MODES, OFF, ChosenSandbox

Say = Callable[[str], None]


def sandbox_for(folder: Path, flag: str | None, say: Say) -> ChosenSandbox:
    """Choose the sandbox of a command outside of the loop; print why none is used.

    Raises UsageError where the named one cannot be used. The runner announces one that is in force.
    """
    settings = load_settings(folder, bridle_home(os.environ), {"sandbox.mode": flag})
    chosen = choose_sandbox(settings.sandbox, os.environ, folder)
    check_owner(chosen, folder)
    if not chosen.is_on and settings.sandbox_mode != OFF:
        say(sandbox_line(chosen))
    return chosen


def sandbox_of_run(
    repository: Path, recorded: str | None, environment: Mapping[str, str], *, flag: str | None = None
) -> ChosenSandbox:
    """Choose the sandbox for a driver of a run.

    A flag comes first, then the mode that the run began with, unless that is `auto`; then the variable. What else the
    sandbox allows is read from the settings of the user, since a run may come with a repository: then `recorded` is
    None, and the mode is read from them too.
    """
    rules = load_settings(repository, bridle_home(environment)).sandbox
    recorded = rules.mode if recorded is None else recorded
    mode = flag or (recorded if recorded != AUTO else _variable(environment) or AUTO)
    chosen = choose_sandbox(replace(rules, mode=mode), environment, repository)
    check_owner(chosen, repository)
    return chosen


def sandbox_line(chosen: ChosenSandbox) -> str:
    """Return the line in the head of a run."""
    if chosen.is_on:
        return f"sandbox: {chosen.name} ({chosen.program})"
    return f"sandbox: none ({chosen.reason}): agents and checks can read and change whatever you can"


def _variable(environment: Mapping[str, str]) -> str | None:
    value = environment.get(VARIABLE) or None
    if value is not None and value not in MODES:
        raise UsageError(f"{VARIABLE} must be one of {', '.join(MODES)}, got {value!r}")
    return value
