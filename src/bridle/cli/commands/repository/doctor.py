"""`bridle doctor`: check what is installed, what is missing and how to fix it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bridle.cli.exit_codes import FAILED, SUCCESS
from bridle.cli.user_interface.options import json_option, runs_dir_option
from bridle.cli.user_interface.terminal import print_document, show


@click.command("doctor", short_help="Check what is installed, what is missing and how to fix it.")
@click.option("--trust", "trusts", is_flag=True, help="List this repository's native hooks and allow them to run.")
@runs_dir_option
@json_option
def command(*, trusts: bool, runs_dir: str | None, as_json: bool) -> int:
    """Check what Bridle needs on this machine, and the native hooks of the current repository.

    A repository's hooks are code that runs as you. Read them before you pass --trust, which is recorded in BRIDLE_HOME.
    """
    import asyncio

    from bridle.cli.doctor import checks as doctor_checks
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.engine.hooks.find_hooks import hooks_owner, repository_of
    from bridle.ground import trust
    from bridle.ground.home import bridle_home
    from bridle.journal.stores.find_run import runs_folder

    repository = hooks_owner(repository_of(Path.cwd() / "here"))
    hooks = doctor_checks.hooks_of(repository)
    if trusts:
        refuse_inside_agent("doctor --trust")
        for path in hooks if not as_json else ():
            show(f"trusted: {path}")
        trust.trust(repository, bridle_home(os.environ))
    checks = asyncio.run(doctor_checks.check_all(repository, runs_folder(runs_dir, os.environ), os.environ))
    is_ready = all(check.state != doctor_checks.MISSING for check in checks)
    if as_json:
        document = {
            "ready": is_ready,
            "repository": str(repository),
            "trusted": trust.is_trusted(repository, bridle_home(os.environ)),
            "hooks": [str(path) for path in hooks],
            "parts": [
                {"name": check.name, "state": check.state, "message": check.message, "remedy": check.remedy}
                for check in checks
            ],
        }
        print_document(document)
    else:
        for check in checks:
            show(f"{check.state:<8} {check.message}" + (f"\n         {check.remedy}" if check.remedy else ""))
        show("ready" if is_ready else "not ready: something is missing")
    return SUCCESS if is_ready else FAILED
