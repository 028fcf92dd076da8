"""`bridle drive`: execute a run's pending effects until it ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.user_interface.options import (
    auth_option,
    json_option,
    plugin_root_option,
    run_argument,
    runs_dir_option,
    sandbox_option,
)
from bridle.cli.user_interface.terminal import chosen_run
from bridle.errors import UsageError

if TYPE_CHECKING:
    from bridle.engine.drive.driver import DriveOptions

AGENTS = ("claude", "bridle-agent", "codex", "gemini", "opencode")


@click.command("drive", short_help="Execute a run's pending effects until it ends.")
@run_argument
@click.option(
    "--breakpoints",
    type=click.Choice(["ask", "approve", "reject"]),
    default="ask",
    show_default=True,
    help="Ask you, or answer them by this policy, which is recorded.",
)
@click.option("--agent", type=click.Choice(AGENTS), default="claude", show_default=True, help="Which agent to run.")
@click.option("--model", metavar="NAME", help="An alias (sonnet, opus, haiku) or a full name.")
@click.option("--reasoning", type=click.Choice(["none", "low", "med", "high"]), help="How much the model may think.")
@auth_option
@sandbox_option
@click.option(
    "--permission",
    type=click.Choice(["default", "acceptEdits", "bypass"]),
    default="acceptEdits",
    show_default=True,
    help="What agents may do without asking. Use bypass only on a machine you can lose.",
)
@click.option("--concurrency", type=click.IntRange(1, 100), default=4, show_default=True, help="Effects at once.")
@click.option("--wait", "waits", is_flag=True, help="Wait for answers and for other programs instead of exiting.")
@click.option(
    "--max-time",
    metavar="TIME",
    default="8h",
    show_default=True,
    help="Limit of the whole run: seconds, or 90s, 15m, 8h.",
)
@click.option("--no-hooks", is_flag=True, help="Run no native hooks, trusted or not.")
@plugin_root_option
@runs_dir_option
@json_option
def command(**options: Any) -> int:
    """Execute the pending effects of RUN (agents, commands, sleeps) until it ends.

    Questions wait for `bridle answer`. RUN is a run's id, a unique prefix of it, its folder, or `last`. Progress goes
    to stderr. You can kill and restart it at any moment: an interrupted effect is executed again only if that is safe.
    """
    run = chosen_run(options["run"], options["runs_dir"])
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.cli.user_interface.drive_run import (
        CommandOptions,
        drive_and_report,
    )  # not needed to report a missing run
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.run_inputs import is_loop_run

    refuse_inside_agent("drive", run)
    if is_loop_run(FileStore(run)):
        raise UsageError(f"{run.name} is a run of the loop", remedy=f"Continue it with `bridle resume {run.name}`.")
    command_options = CommandOptions(
        options["as_json"], hooks=not options["no_hooks"], plugin_root=options["plugin_root"]
    )
    return drive_and_report(run, _drive_options(run, options), command_options)


def _drive_options(run: Path, options: dict[str, Any]) -> DriveOptions:
    from bridle.cli.user_interface.chosen_sandbox import sandbox_for
    from bridle.cli.user_interface.terminal import say
    from bridle.engine.drive.agent_request import AgentDefaults
    from bridle.engine.drive.driver import DriveOptions
    from bridle.engine.hooks.find_hooks import repository_of
    from bridle.run.request import Auth, Permission, Reasoning

    reasoning = options["reasoning"]
    agents = AgentDefaults(
        agent=options["agent"],
        model=options["model"],
        reasoning=None if reasoning is None else Reasoning(reasoning),
        permission=Permission(options["permission"]),
        auth=Auth(options["auth"] or Auth.AUTO),
        sandbox=sandbox_for(repository_of(run), options["sandbox"], say),
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
