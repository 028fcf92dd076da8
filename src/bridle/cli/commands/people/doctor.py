"""`bridle doctor`: what is installed, what is missing, how to mend it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bridle.cli.people.terminal import json_option, print_document, runs_dir_option, show

NOT_READY = 1


@click.command("doctor", short_help="What is installed, what is missing, how to mend it.")
@click.option("--trust", "trusts", is_flag=True, help="List this repository's native hooks and let them run.")
@runs_dir_option
@json_option
def command(*, trusts: bool, runs_dir: str | None, as_json: bool) -> int:
    """Look at what Bridle needs on this machine, and at the native hooks of the repository around this folder.

    A repository's hooks are somebody's code. Read them before you use --trust; it is kept in BRIDLE_HOME.
    """
    import asyncio

    from bridle.cli.people import doctor_checks
    from bridle.engine.hooks import trust
    from bridle.engine.hooks.find_hooks import repository_of
    from bridle.ground.home import bridle_home
    from bridle.journal.stores.find_run import runs_folder

    repository = repository_of(Path.cwd() / "here")
    hooks = doctor_checks.hooks_of(repository)
    if trusts:
        for path in hooks if not as_json else ():
            show(f"trusted: {path}")
        trust.trust(repository, bridle_home(os.environ))
    parts = asyncio.run(doctor_checks.look(repository, runs_folder(runs_dir, os.environ), os.environ))
    is_ready = all(part.state != doctor_checks.MISSING for part in parts)
    if as_json:
        document = {
            "ready": is_ready,
            "repository": str(repository),
            "trusted": trust.is_trusted(repository, bridle_home(os.environ)),
            "hooks": [str(path) for path in hooks],
            "parts": [
                {"name": part.name, "state": part.state, "message": part.words, "remedy": part.remedy} for part in parts
            ],
        }
        print_document(document)
    else:
        for part in parts:
            show(f"{part.state:<8} {part.words}" + (f"\n         {part.remedy}" if part.remedy else ""))
        show("ready" if is_ready else "something is missing")
    return 0 if is_ready else NOT_READY
