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
    its bridle.toml beyond your own, its template of prompts, and runs that came with it. In a folder below its top,
    what counts there.

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
    here, home = Path.cwd().resolve(), bridle_home(os.environ)
    repository = repository_of(here / "here")
    owners = _owners(here, repository, home)
    if revokes:
        for folder in {here, repository, *(folder for folders in owners.values() for folder in folders)}:
            trust.revoke(folder, home)
    elif not shows:
        for kind, folders in owners.items():
            for folder in folders:
                trust.trust(folder, home, (kind,))
    kinds = {kind: _describe(kind, folders, home) for kind, folders in owners.items()}
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


def _owners(here: Path, repository: Path, home: Path) -> dict[str, list[Path]]:
    """Return for each kind the folders whose files count here, found as they are by what uses them."""
    from bridle.engine.hooks.find_hooks import hooks_owner
    from bridle.ground import trust
    from bridle.ground.git_folder import folders_up_to_top

    above = list(dict.fromkeys([*folders_up_to_top(here), repository]))

    def having(kind: str) -> list[Path]:
        return [folder for folder in above if trust.shipped_files(folder, kind, home)] or [repository]

    return {
        trust.HOOKS: [hooks_owner(repository)],
        trust.SETTINGS: having(trust.SETTINGS)[:1],
        trust.LOOP: having(trust.LOOP)[:1],
        trust.PROMPTS: having(trust.PROMPTS)[:1],
        trust.PROCESSES: having(trust.PROCESSES),  # commands find the runs of all these folders
    }


def _describe(kind: str, folders: list[Path], home: Path) -> dict[str, object]:
    from bridle.ground import trust

    return {
        "trusted": all(trust.is_trusted(folder, home, kind) for folder in folders),
        "changed": any(trust.has_changed(folder, home, kind) for folder in folders),
        "files": [str(path) for folder in folders for path in trust.shipped_files(folder, kind, home)],
    }
