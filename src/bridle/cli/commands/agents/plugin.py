"""`bridle plugin install|uninstall|path`: the Claude Code plugin."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.exit_codes import FAILED, SUCCESS
from bridle.cli.user_interface.options import json_option
from bridle.cli.user_interface.terminal import print_document, say, show, top_of
from bridle.errors import ProcessError, UsageError

if TYPE_CHECKING:
    from bridle.hosts.install.install import Changes, InstalledPlugin
    from bridle.hosts.install.render_plugin import Origin

# A hook takes a tenth of a second; the first may have to compile Bridle on a slow disk.
TRY_SECONDS = 60.0

_MARKETPLACE = "bridle"
_PLUGIN = f"bridle@{_MARKETPLACE}"

_dir_option = click.option("--dir", "chosen", metavar="DIR", help="The folder of the plugin.")
_scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    help="The folder that Claude Code loads automatically: in all your sessions, or in those of this project.",
)


@click.group("plugin", short_help="Install, remove or locate the Claude Code plugin.")
def command() -> None:
    """Install, remove or locate the plugin that lets a Claude Code session drive Bridle's runs.

    Each of the three takes --json.
    """


@command.command()
@_dir_option
@_scope_option
@json_option
def install(*, chosen: str | None, scope: str | None, as_json: bool) -> int:
    """Write or update the plugin, and print how to enable it.

    Without --dir and --scope it is written into BRIDLE_HOME, and no session loads it until you enable it. With --scope
    it is written into a folder from which Claude Code loads plugins automatically. No settings file is changed. A
    folder that contains anything else is refused.
    """
    from bridle.ground.home import bridle_home
    from bridle.hosts.install import locations
    from bridle.hosts.install.install import install as write

    folder, origin = _folder(chosen, scope), _origin()
    changes = write(folder, origin)
    _try_hook(folder, origin)
    if chosen is not None:
        locations.remember(folder, bridle_home(os.environ))
    steps = _steps(folder, scope, is_loaded=chosen is None and scope is not None)
    if as_json:
        _print({"folder": str(folder), "python": origin.python, "version": origin.version, "enable": steps}, changes)
        return 0
    for name in changes.kept:
        show(f"{folder / name} was changed; the changed copy is kept as {name}.yours")
    show(f"{folder}: the plugin of Bridle {origin.version} is installed")
    for step in steps:
        show(f"  {step['what']}:\n    {step['command']}" if "command" in step else f"  {step['what']}.")
    return 0


@command.command()
@_dir_option
@_scope_option
@click.option("--purge", is_flag=True, help="Remove its session files too.")
@json_option
def uninstall(*, chosen: str | None, scope: str | None, purge: bool, as_json: bool) -> int:
    """Remove what `install` wrote, and nothing else.

    Without --dir and --scope the only installed plugin is removed. Its session files stay unless you pass --purge.
    Files that you changed or added stay, and are listed.
    """
    from bridle.ground.home import bridle_home
    from bridle.hosts.install import locations
    from bridle.hosts.install.install import uninstall as remove

    folder = _folder(chosen, scope) if chosen or scope else _only_installed()
    changes = remove(folder, with_state=purge)
    locations.forget(folder, bridle_home(os.environ))
    if as_json:
        _print({"folder": str(folder)}, changes)
        return 0
    for name in changes.kept:
        show(f"{folder / name} was changed and is kept")
    show(f"{folder}: the plugin is removed")
    if folder.exists():
        show("  The remaining files are not the plugin's" + ("." if purge else ", or belong to its sessions."))
    show(f"  If it is installed in Claude Code: claude plugin uninstall {_PLUGIN}")
    show(f"    and: claude plugin marketplace remove {_MARKETPLACE}")
    return 0


@command.command()
@_dir_option
@_scope_option
@json_option
def path(*, chosen: str | None, scope: str | None, as_json: bool) -> int:
    """Print the folder of the installed plugin; several are printed one per line, this project's first."""
    plugins = _installed([_folder(chosen, scope)] if chosen or scope else None)
    if as_json:
        print_document({"plugins": [_document(plugin) for plugin in plugins]})
    for plugin in plugins if not as_json else ():
        show(str(plugin.folder))
    if not plugins and not as_json:
        say("the plugin is not installed. Install it with `bridle plugin install`.")
    return SUCCESS if plugins else FAILED


def _folder(chosen: str | None, scope: str | None) -> Path:
    from bridle.hosts.install import locations

    if chosen is not None and not chosen.strip():
        raise UsageError("--dir must be a folder, got ''", remedy="Name a folder, or omit the option.")
    if chosen is not None:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    return locations.default_folder(scope, top_of(Path.cwd()), os.environ)


def _only_installed() -> Path:
    plugins = _installed()
    if not plugins:
        raise UsageError(
            "no installed plugin was found; nothing was removed",
            remedy="If it is in another folder, name it: `bridle plugin uninstall --dir DIR`.",
        )
    if len(plugins) > 1:
        folders = ", ".join(str(plugin.folder) for plugin in plugins)
        raise UsageError(
            f"several plugins are installed: {folders}", remedy="Name one: `bridle plugin uninstall --dir DIR`."
        )
    return plugins[0].folder


def _installed(folders: list[Path] | None = None) -> list[InstalledPlugin]:
    from bridle.hosts.install import locations
    from bridle.hosts.install.install import read

    places = locations.candidates(top_of(Path.cwd()), os.environ) if folders is None else folders
    return [plugin for plugin in map(read, places) if plugin is not None]


def _origin() -> Origin:
    from bridle import __version__
    from bridle.hosts.install.render_plugin import PACKAGE, Origin

    if not sys.executable:
        raise UsageError("cannot determine the Python interpreter", remedy="Start bridle by its full path.")
    return Origin(os.path.abspath(sys.executable), str(PACKAGE), __version__)


def _try_hook(folder: Path, origin: Origin) -> None:
    """Run the hook once, as Claude Code will, so that a broken one is found now and not in a session."""
    import asyncio
    import json

    from bridle.ground import ids
    from bridle.ground.children.capture import capture
    from bridle.hosts.install.render_plugin import hook_command

    argv = ("/bin/sh", "-c", hook_command(folder, origin, "Stop"))
    payload = json.dumps({"session_id": ids.new_token()}).encode()  # an unknown session: the answer is {}
    # Without this variable Python is started, also where no session is bound.
    environment = {name: value for name, value in os.environ.items() if name != "CLAUDE_CODE_SESSION_ID"}
    done = asyncio.run(capture(argv, cwd=folder, environment=environment, limit_seconds=TRY_SECONDS, stdin=payload))
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if done.exit_code != 0 or answer != {}:
        output = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-500:]
        raise ProcessError(
            f"the hook in {folder} does not work: {output or f'exit code {done.exit_code}'}",
            remedy="Reinstall Bridle, then run `bridle plugin install` again.",
        )


def _steps(folder: Path, scope: str | None, *, is_loaded: bool) -> list[dict[str, str]]:
    """List how to enable the plugin, and its limits."""
    from bridle.hosts.install.render_plugin import block_cap

    place = shlex.quote(str(folder))
    at = f" --scope {scope}" if scope else ""
    add = f"claude plugin marketplace add {place}{at} && claude plugin install {_PLUGIN}{at}"
    where = "in this project, once you trust the folder" if scope == "project" else "of yours"
    loaded = [{"what": f"Claude Code loads it in every new session {where}"}]
    steps = loaded if is_loaded else []
    steps = [*steps, {"what": "For one session", "command": f"claude --plugin-dir {place}"}]
    steps += [] if is_loaded else [{"what": "For every session", "command": add}]
    return [*steps, {"what": f"{block_cap(os.environ)}; the run stays and can be resumed"}]


def _print(document: dict[str, Any], changes: Changes) -> None:
    lists = {"written": list(changes.written), "removed": list(changes.removed), "kept": list(changes.kept)}
    print_document(document | lists)


def _document(plugin: InstalledPlugin) -> dict[str, Any]:
    from bridle.hosts.install.install import find_faults

    problems = find_faults(plugin)
    origin = plugin.origin
    document = {"folder": str(plugin.folder), "version": origin.version, "python": origin.python}
    return document | {"package": origin.package, "works": not problems, "faults": problems}
