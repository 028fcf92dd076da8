"""Options that several click commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_SANDBOXES = ["auto", "bwrap", "seatbelt", "off"]

Decorated = Callable[..., Any]


def run_argument(function: Decorated) -> Decorated:
    """Add the argument RUN: a run's id, a unique prefix of it, its folder, or `last`."""
    return click.argument("run", metavar="[RUN]", default="last")(function)


def runs_dir_option(function: Decorated) -> Decorated:
    """Add the option --runs-dir."""
    text = "Folder of the runs.  [default: $BABYSITTER_RUNS_DIR, else .a5c/runs]"
    return click.option("--runs-dir", metavar="DIR", help=text)(function)


def plugin_root_option(function: Decorated) -> Decorated:
    """Add the option --plugin-root."""
    text = "The plugin, whose hooks run too.  [default: $CLAUDE_PLUGIN_ROOT]"
    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    return click.option("--plugin-root", metavar="DIR", type=folder, help=text)(function)


def json_option(function: Decorated) -> Decorated:
    """Add the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")(function)


def auth_option(function: Decorated) -> Decorated:
    """Add the option --auth."""
    text = "What pays: the login, or ANTHROPIC_API_KEY from the environment.  [default: auto]"
    return click.option("--auth", type=click.Choice(["auto", "login", "key"]), help=text)(function)


def agent_options(function: Decorated) -> Decorated:
    """Add the options that choose agents, their model and their reasoning, to `run` and `resume`."""
    for option in (
        click.option(
            "--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much the model may think."
        ),
        click.option("--model", help="The model.  [default: sonnet]"),
        click.option("--agent", multiple=True, help="The agent; of several, the next one takes over at a usage limit."),
    ):
        function = option(function)
    return function


def listed_agents(flags: dict[str, Any]) -> dict[str, Any]:
    """Return the flags that were given, with the names of agents as a list: `--agent a,b --agent c`."""
    given = {name: value for name, value in flags.items() if value is not None and value != ()}
    if "agent" in given:
        given["agent"] = [name for names in given["agent"] for name in names.split(",")]
    return given


def sandbox_option(function: Decorated) -> Decorated:
    """Add the option --sandbox, whose default is the variable BRIDLE_SANDBOX."""
    return _add_sandbox_option(function, "BRIDLE_SANDBOX", "$BRIDLE_SANDBOX, else your settings, else auto")


def sandbox_option_of_resume(function: Decorated) -> Decorated:
    """Add the option --sandbox to a command that continues a run."""
    return _add_sandbox_option(function, None, "as the run began")


def _add_sandbox_option(function: Decorated, variable: str | None, default: str) -> Decorated:
    text = f"Isolate agents and checks; one that is named must work.  [default: {default}]"
    return click.option("--sandbox", type=click.Choice(_SANDBOXES), envvar=variable, help=text)(function)


def amount(text: str) -> float:
    """Return an amount of money in USD, as a user writes it: 5, 5.50, $5 or 5 USD."""
    try:
        return float(text.strip().upper().removeprefix("$").removesuffix("USD"))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not an amount in USD, such as 5 or 0.50.") from None


def limit_options(function: Decorated) -> Decorated:
    """Add the limits that both `run` and `resume` take."""
    for option in (
        click.option("--tries", type=int, help="Tries for each task.  [default: 5]"),
        click.option(
            "--max-time", metavar="DURATION", help="Limit of the whole run: seconds, or 90s, 15m, 8h.  [default: 8h]"
        ),
        click.option("--max-iterations", type=int, help="Limit of agent runs.  [default: 50]"),
        click.option("--max-cost", type=amount, metavar="USD", help="Limit of the agents' cost.  [default: 20]"),
    ):
        function = option(function)
    return function
