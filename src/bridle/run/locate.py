"""Finding the agent's program: the one named in the environment, on PATH, or in the places it is installed to."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bridle.errors import AgentNotFound, AgentNotReady

# Relative to the home folder, or absolute. From the installers of the agents themselves and of npm, bun and volta.
_PLACES = (
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
# The agent that comes with Bridle itself.
OWN_AGENT = "bridle-agent"
_REMEDY = {
    "claude": "install it with `npm install -g @anthropic-ai/claude-code`, or name it in BRIDLE_CLAUDE",
    "codex": "install it with `npm install -g @openai/codex`, or name it in BRIDLE_CODEX",
    "gemini": "install it with `npm install -g @google/gemini-cli`, or name it in BRIDLE_GEMINI",
    "opencode": "install it with `npm install -g opencode-ai`, or name it in BRIDLE_OPENCODE",
}


@dataclass(frozen=True, slots=True)
class Program:
    """An agent's executable and how it was found."""

    path: str
    found: str


def variable_of(agent: str) -> str:
    """The variable that names an agent's executable."""
    return "BRIDLE_" + agent.upper().replace("-", "_")


def locate(agent: str, environment: Mapping[str, str]) -> Program:
    """Find the agent's executable, or say what is missing and how to mend it."""
    variable = variable_of(agent)
    named = environment.get(variable)
    if named:
        return Program(_usable(named, variable, environment), variable)
    # The agent starts in a folder of its own, where a relative name would mean something else.
    on_path = shutil.which(agent, path=environment.get("PATH", os.defpath))
    if on_path:
        return Program(os.path.abspath(on_path), "PATH")
    home = Path(environment.get("HOME") or "/nonexistent")
    # An environment of its own need not be on PATH: then our own agent is where this very Bridle is.
    beside = (os.path.dirname(sys.executable),) if agent == OWN_AGENT else ()
    for place in (*beside, *_PLACES):
        candidate = home / place / agent
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return Program(str(candidate), str(candidate.parent))
    remedy = _REMEDY.get(agent, f"name it in {variable}")
    raise AgentNotFound(f"{agent} was not found on PATH or where it is usually installed", remedy=remedy)


def _usable(named: str, variable: str, environment: Mapping[str, str]) -> str:
    path = shutil.which(named, path=environment.get("PATH", os.defpath))
    if path is not None:
        return os.path.abspath(path)
    if os.path.isfile(named):  # not of Path, which raises where a name is too long or a folder may not be entered
        raise AgentNotReady(f"{named} (named by {variable}) may not be executed", remedy=f"chmod +x {named}")
    raise AgentNotFound(f"{named} (named by {variable}) was not found", remedy=f"correct or unset {variable}")
