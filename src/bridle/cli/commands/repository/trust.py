"""`bridle trust`: agree to the hooks and settings that this repository ships."""

from __future__ import annotations

import os
from pathlib import Path

import click

from bridle.cli.exit_codes import SUCCESS
from bridle.cli.user_interface.options import json_option
from bridle.cli.user_interface.terminal import print_document, show


@click.command("trust", short_help="Agree to the hooks and settings of this repository.")
@click.option("--show", "shows", is_flag=True, help="List what needs your agreement, and change nothing.")
@click.option("--revoke", "revokes", is_flag=True, help="Forget that you have agreed.")
@json_option
def command(*, shows: bool, revokes: bool, as_json: bool) -> int:
    """Agree to what this repository ships: native hooks, settings of Claude Code beyond rules that deny, settings of
    its bridle.toml beyond your own, and runs that came with it.

    Hooks and the processes of runs are code that runs as you, and settings can permit more, set variables and name a
    server. Read them first. The digest of each kind is recorded in BRIDLE_HOME; after a change it counts again only
    when you agree again.
    """
    from bridle.cli.machine_interface.refuse_inside_agent import refuse_inside_agent
    from bridle.engine.hooks.find_hooks import repository_of
    from bridle.errors import UsageError
    from bridle.ground import trust
    from bridle.ground.home import bridle_home

    if shows and revokes:
        raise UsageError("--show and --revoke cannot be used together", remedy="Use one of them.")
    if not shows:
        refuse_inside_agent("trust")
    repository, home = _folder(repository_of(Path.cwd() / "here")), bridle_home(os.environ)
    if revokes:
        trust.revoke(repository, home)
    elif not shows:
        trust.trust(repository, home, tuple(trust.KINDS))
    kinds = {
        kind: {
            "trusted": trust.is_trusted(repository, home, kind),
            "changed": trust.has_changed(repository, home, kind),
            "files": [str(path) for path in trust.shipped_files(repository, kind, home)],
        }
        for kind in trust.KINDS
    }
    if as_json:
        print_document({"repository": str(repository), "kinds": kinds})
        return SUCCESS
    for kind, found in kinds.items():
        state = "trusted" if found["trusted"] else "changed since you agreed" if found["changed"] else "not trusted"
        files = found["files"]
        show(f"{kind}: {state}" if files else f"{kind}: none")
        for path in files if isinstance(files, list) else ():
            show(f"  {path}")
    return SUCCESS


def _folder(repository: Path) -> Path:
    """Return the folder to agree to: the current one if it has settings of its own, else the repository."""
    from bridle.ground import trust

    has_own = any((Path.cwd() / name).exists() for names in trust.KINDS.values() for name in names)
    return Path.cwd().resolve() if has_own else repository
