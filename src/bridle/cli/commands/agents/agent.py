"""`bridle agent`: the program bridle-agent under another name."""

from __future__ import annotations

import click

from bridle.agent.command_line.help import text


@click.command(
    help="Run bridle-agent, the drop-in for `claude`.\n\n\b\n" + text().replace("\n\n", "\n\n\b\n"),
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> int:
    """Run bridle-agent with these arguments."""
    from bridle.agent.main import main

    return main(list(arguments))
