"""Find the executable of an agent: named in the environment, on PATH, or where its installer puts it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import AgentNotFound, AgentNotReady

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


def variable_of(agent: str) -> str:
    """Return the name of the variable that holds the path of an agent's executable."""
    return "BRIDLE_" + agent.upper().replace("-", "_")


def find_program(agent: str, environment: Mapping[str, str]) -> Program:
    """Find the executable of an agent; raise AgentError where there is none that can be used."""
    variable = variable_of(agent)
    named = environment.get(variable)
    if named:
        return Program(_usable(agent, named, variable, environment), variable)
    # Absolute: the agent starts in another folder.
    on_path = shutil.which(agent, path=environment.get("PATH", os.defpath))
    if on_path:
        return Program(os.path.abspath(on_path), "PATH")
    home = Path(environment.get("HOME") or "/nonexistent")
    # A virtual environment need not be on PATH; then our agent is beside this Python.
    beside = (os.path.dirname(sys.executable),) if agent == OWN_AGENT else ()
    for folder in (*beside, *_INSTALL_FOLDERS):
        candidate = home / folder / agent
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return Program(str(candidate), str(candidate.parent))
    remedy = _REMEDY.get(agent, f"Set {variable} to its path.")
    raise program_not_found(agent, "it is not on PATH or in the usual install folders", remedy=remedy)


def program_not_found(agent: str, reason: str, *, remedy: str | None) -> AgentNotFound:
    """Return the error for an agent whose program is missing."""
    return AgentNotFound(f"{_NAMES.get(agent) or agent.capitalize()} CLI not found: {reason}", remedy=remedy)


def _usable(agent: str, named: str, variable: str, environment: Mapping[str, str]) -> str:
    path = shutil.which(named, path=environment.get("PATH", os.defpath))
    if path is not None:
        return os.path.abspath(path)
    if os.path.isfile(named):  # Path.is_file raises for a name that is too long or a folder without access
        raise AgentNotReady(f"{named} (from {variable}) is not executable", remedy=f"Run: chmod +x {named}")
    raise program_not_found(agent, f"{named} (from {variable})", remedy=f"Correct or unset {variable}.")
