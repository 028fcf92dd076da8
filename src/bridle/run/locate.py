"""Find the executable of an agent: named in the environment, on PATH, or where its installer puts it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import AgentNotFound, AgentNotReady
from bridle.ground import program_path

# Relative to the home folder, or absolute: folders of the agents' own installers and of npm, bun and volta.
_INSTALL_FOLDERS = (
    ".claude/local",
    ".local/bin",
    ".npm-global/bin",
    ".bun/bin",
    ".volta/bin",
    ".opencode/bin",
    "node_modules/.bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
)
# The agent that is part of Bridle.
OWN_AGENT = "bridle-agent"
_NAMES = {"opencode": "OpenCode"}  # where capitalising is not enough
_REMEDY = {
    "claude": "Install it with `npm install -g @anthropic-ai/claude-code`, or set BRIDLE_CLAUDE to its path.",
    "codex": "Install it with `npm install -g @openai/codex`, or set BRIDLE_CODEX to its path.",
    "gemini": "Install it with `npm install -g @google/gemini-cli`, or set BRIDLE_GEMINI to its path.",
    "opencode": "Install it with `npm install -g opencode-ai`, or set BRIDLE_OPENCODE to its path.",
}


class Program(Struct, frozen=True):
    """An agent's executable and how it was found."""

    path: str
    found: str
    is_inside: bool = False
    """Whether an agent can replace it, in the repository or a writable folder: it is started in a sandbox only."""


def variable_of(agent: str) -> str:
    """Return the name of the variable that holds the path of an agent's executable."""
    return "BRIDLE_" + agent.upper().replace("-", "_")


def find_program(
    agent: str, environment: Mapping[str, str], folder: Path | None = None, *, is_sandboxed: bool = True
) -> Program:
    """Find the executable of an agent for a folder, the current one by default; raise AgentError without one.

    One outside of the folder's repository comes first. Only a sandbox may start one that an agent there can replace,
    unless the user's variable names it.
    """
    folder = folder or Path.cwd()
    variable = variable_of(agent)
    named = environment.get(variable)
    if named:
        path = _usable(agent, named, variable, environment, folder)
        return Program(path, variable, program_path.is_inside(path, environment, folder))
    found = _find_outside(agent, environment, folder)
    if found is not None:
        return found
    # Absolute: the agent starts in another folder.
    on_path = shutil.which(agent, path=environment.get("PATH", os.defpath))
    remedy = _REMEDY.get(agent, f"Set {variable} to its path.")
    if on_path is None:
        raise program_not_found(agent, "it is not on PATH or in the usual install folders", remedy=remedy)
    if not is_sandboxed:
        only = f"{on_path} is where an agent can replace it, and there is no sandbox"
        raise program_not_found(agent, only, remedy=remedy)
    return Program(os.path.abspath(on_path), "PATH", is_inside=True)


def _find_outside(agent: str, environment: Mapping[str, str], folder: Path) -> Program | None:
    on_path = program_path.find_outside(agent, environment, folder)
    if on_path is not None:
        return Program(on_path, "PATH")
    home = Path(environment.get("HOME") or "/nonexistent")
    # A virtual environment need not be on PATH; then our agent is beside this Python.
    beside = (os.path.dirname(sys.executable),) if agent == OWN_AGENT else ()
    for place in (*beside, *_INSTALL_FOLDERS):
        candidate = home / place / agent
        if not os.access(candidate, os.X_OK) or not candidate.is_file():
            continue
        if place in beside or not program_path.is_inside(str(candidate), environment, folder):
            return Program(str(candidate), str(candidate.parent))
    return None


def program_not_found(agent: str, reason: str, *, remedy: str | None) -> AgentNotFound:
    """Return the error for an agent whose program is missing."""
    return AgentNotFound(f"{_NAMES.get(agent) or agent.capitalize()} CLI not found: {reason}", remedy=remedy)


def _usable(agent: str, named: str, variable: str, environment: Mapping[str, str], folder: Path) -> str:
    outside = program_path.find_outside(named, environment, folder)
    path = outside or shutil.which(named, path=environment.get("PATH", os.defpath))
    if path is not None:
        return os.path.abspath(path)
    if os.path.isfile(named):  # Path.is_file raises for a name that is too long or a folder without access
        raise AgentNotReady(f"{named} (from {variable}) is not executable", remedy=f"Run: chmod +x {named}")
    raise program_not_found(agent, f"{named} (from {variable})", remedy=f"Correct or unset {variable}.")
