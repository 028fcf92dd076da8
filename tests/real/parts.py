"""Where the real programs are: those pinned in parts.json, installed by `make` before the tests run."""

from __future__ import annotations

import json
from pathlib import Path

PINS = Path(__file__).with_name("parts.json")
INSTALLED = Path(__file__).parents[2] / ".cache" / "real-parts.json"


def babysitter_program() -> Path:
    """The other implementation of the run format."""
    return program("babysitter")


def claude_program() -> Path:
    """The real Claude Code."""
    return program("claude")


def codex_program() -> Path:
    """The real Codex."""
    return program("codex")


def gemini_program() -> Path:
    """The real Gemini CLI."""
    return program("gemini")


def opencode_program() -> Path:
    """The real OpenCode."""
    return program("opencode")


def program(name: str) -> Path:
    """The program of that name at its pinned version; a missing one is a failure and never a skip."""
    version = pinned_version(name)
    installed = json.loads(INSTALLED.read_text(encoding="utf-8")) if INSTALLED.exists() else {}
    part = installed.get(name, {})
    path = Path(part.get("program", ""))
    if part.get("version") != version or not path.is_file():
        raise FileNotFoundError(f"the real {name} {version} is not installed: run `make real`")
    return path


def pinned_version(name: str) -> str:
    """The version that the repository pins."""
    pins = json.loads(PINS.read_text(encoding="utf-8"))
    return str(pins[name]["version"])
