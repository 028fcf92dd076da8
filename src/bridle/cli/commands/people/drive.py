"""`bridle drive`: perform a run's pending effects from outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.people.terminal import chosen_run, json_option, run_argument, runs_dir_option
from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.engine.drive.driver import DriveOptions

AGENTS = ("claude", "bridle-agent", "codex", "gemini", "opencode")


@click.command("drive", short_help="Perform a run's pending effects from outside.")
@run_argument
@click.option(
    "--breakpoints",
    type=click.Choice(["ask", "approve", "reject"]),
    default="ask",
    show_default=True,
    help="Who answers them: a person, or a policy, which is recorded as such.",
)
@click.option("--agent", type=click.Choice(AGENTS), default="claude", show_default=True, help="Which agent to run.")
@click.option("--model", metavar="NAME", help="An alias (sonnet, opus, haiku) or a full name.")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much thinking is allowed.")
@click.option(
    "--permission",
    type=click.Choice(["default", "acceptEdits", "bypass"]),
    default="acceptEdits",
    show_default=True,
    help="What agents may do unasked. bypass is for a machine that may be lost.",
)
@click.option("--concurrency", type=click.IntRange(1, 100), default=4, show_default=True, help="Effects at once.")
@click.option("--wait", "waits", is_flag=True, help="Wait for people and other programs instead of ending.")
@click.option("--max-time", metavar="TIME", default="8h", show_default=True, help="Seconds, or 90s, 15m, 8h.")
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@click.option("--plugin-root", metavar="DIR", type=click.Path(path_type=Path), help="The plugin, whose hooks run too.")
@runs_dir_option
@json_option
def command(**options: Any) -> int:
    """Perform what RUN waits for until it ends: agents, commands, pauses. Questions wait for `bridle answer`.

    RUN is a run's id, the beginning of one, its folder, or `last`. What happens goes to stderr. Killed at any moment it
    can be started again: what was under way is found, and done again only where that is safe.
    """
    run = chosen_run(options["run"], options["runs_dir"])
    from bridle.cli.people import loop_runs  # a run that is not there needs no engine to be told
    from bridle.cli.people.drive_run import Ways, drive_run

    if loop_runs.is_loop(run):
        raise UsageError(f"{run.name} is a run of the loop", remedy=f"Go on with it: bridle resume {run.name}")
    ways = Ways(options["as_json"], hooks=not options["no_hooks"], plugin_root=options["plugin_root"])
    return drive_run(run, _manner(options), ways)


def _manner(options: dict[str, Any]) -> DriveOptions:
    from bridle.engine.drive.agent_request import AgentDefaults as AgentManner
    from bridle.engine.drive.driver import DriveOptions
    from bridle.run.request import Permission, Reasoning

    reasoning = options["reasoning"]
    agents = AgentManner(
        agent=options["agent"],
        model=options["model"],
        reasoning=None if reasoning is None else Reasoning(reasoning),
        permission=Permission(options["permission"]),
    )
    return DriveOptions(
        breakpoints=options["breakpoints"],
        concurrency=options["concurrency"],
        waits=options["waits"],
        limit_seconds=_seconds(options["max_time"]),
        agents=agents,
    )


def _seconds(text: str) -> float:
    from bridle.loop.text.durations import EXPECTED, parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--max-time must be {EXPECTED}, {error}") from error
