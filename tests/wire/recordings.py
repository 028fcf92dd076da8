"""The recordings of the real Claude Code: their bytes, and what is known of how each run ended."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from bridle.wire.record.outcome import Ending

FOLDER = Path(__file__).parents[1] / "recordings" / "claude-2.1.197"
NAMES = sorted(path.stem for path in FOLDER.glob("*.ndjson"))


def recorded(name: str) -> bytes:
    """What the agent printed to stdout."""
    return (FOLDER / f"{name}.ndjson").read_bytes()


def ending_of(name: str) -> Ending:
    """How the agent's process ended."""
    return Ending(exit_code=exit_code_of(name), stderr=stderr_of(name))


def exit_code_of(name: str) -> int:
    """What the agent's process ended with."""
    code = _index()[name]["exit_code"]
    assert isinstance(code, int)
    return code


def stderr_of(name: str) -> str:
    """What the agent printed to stderr."""
    path = FOLDER / f"{name}.stderr"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@cache
def _index() -> dict[str, dict[str, Any]]:
    entries = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in entries}
