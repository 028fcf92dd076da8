"""`bridle config`: show the settings in force and their source."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command("config", short_help="Show the settings in force and their source.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--changed", is_flag=True, help="Only settings that a file or a variable sets.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(*, names: tuple[str, ...], changed: bool, as_json: bool) -> int:
    """Show every setting, or those of these NAMEs: its value, and the file and line that set it.

    A flag of `bridle run` comes before a file; the bridle.toml of the repository comes before your own in BRIDLE_HOME.
    Settings of a repository that need your agreement are named, and not in force until you have run `bridle trust`.
    """
    from bridle.cli.user_interface.terminal import print_document, say, show
    from bridle.errors import UsageError
    from bridle.ground.home import bridle_home
    from bridle.ground.suggest import close_names
    from bridle.loop.settings.model import KEYS
    from bridle.loop.settings.sources import DEFAULT, settings_in_force

    for name in names:
        if name not in KEYS:
            near = close_names(name, tuple(KEYS))
            hint = f"Did you mean {near[0]}? " if near else ""
            raise UsageError(f"{name} is not a setting", remedy=f"{hint}`bridle config` lists all of them.")
    found = settings_in_force(Path.cwd(), bridle_home(os.environ), os.environ)
    chosen = [each for each in found if not names or each.name in names]
    chosen = [each for each in chosen if not changed or each.source != DEFAULT]
    if as_json:
        settings = {
            each.name: {
                "value": list(each.value) if isinstance(each.value, tuple) else each.value,
                "source": each.source,
                **({"line": each.line} if each.line else {}),
                **({"ignored": each.ignored} if each.ignored else {}),
            }
            for each in chosen
        }
        print_document({"folder": str(Path.cwd()), "settings": settings})
        return 0
    for each in chosen:
        place = each.source if not each.line else f"{each.source}:{each.line}"
        show(f"{each.name} = {each.shown}  # {place}")
        if each.ignored:
            say(f"{each.name} of {each.ignored} does not count")
    if not chosen:
        say("no file sets a setting")
    return 0
