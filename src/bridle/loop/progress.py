"""`.ralph/progress.md`: what was done and learned, for people and for prompts. One entry for each iteration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bridle.ground import disk

FILE = ".ralph/progress.md"
# What is read of it; the newest entries are at its end.
LIMIT_BYTES = 4 * 1024 * 1024
PATTERNS = "## What was learned"
ENTRIES = "## Iterations"


def read(workspace: Path) -> str:
    """The whole file; empty where there is none."""
    path = workspace / FILE
    if not path.is_file():
        return ""
    return disk.read_bounded(path, LIMIT_BYTES).decode("utf-8", "replace")


def add(workspace: Path, *, key: str, title: str, summary: str, patterns: Sequence[str]) -> None:
    """Add an iteration once, and what it learned that was not known."""
    text = read(workspace)
    mark = f"<!-- {key} -->"
    if mark in text:
        return
    learned, entries = _parts(text)
    known = set(learned)
    learned += [line for line in dict.fromkeys(_plain(one) for one in patterns) if line and line not in known]
    entries += f"\n### {title} {mark}\n\n{_plain_lines(summary)}\n"
    body = "\n".join(f"- {line}" for line in learned)
    whole = f"# Progress\n\n{PATTERNS}\n\n{body}\n\n{ENTRIES}\n{entries}"
    disk.make_private_folder((workspace / FILE).parent)
    disk.write_atomic(workspace / FILE, whole.encode("utf-8", "surrogateescape"))


def fold(workspace: Path, *, key: str, summary: str) -> None:
    """Put a summary in the place of all entries; what was learned stays."""
    text = read(workspace)
    mark = f"<!-- {key} -->"
    if mark in text:
        return
    learned, _ = _parts(text)
    body = "\n".join(f"- {line}" for line in learned)
    whole = f"# Progress\n\n{PATTERNS}\n\n{body}\n\n{ENTRIES}\n\n### Summary so far {mark}\n\n{_plain_lines(summary)}\n"
    disk.write_atomic(workspace / FILE, whole.encode("utf-8", "surrogateescape"))


def _parts(text: str) -> tuple[list[str], str]:
    """The lines that were learned, and the entries."""
    _, _, after = text.partition(PATTERNS)
    learned, _, entries = after.partition(ENTRIES)
    lines = [line[2:].strip() for line in learned.splitlines() if line.startswith("- ")]
    return lines, entries.lstrip("\n") and "\n" + entries.lstrip("\n")


def _plain(text: str) -> str:
    return " ".join(text.split())


def _plain_lines(text: str) -> str:
    """An agent's words, without lines that could be taken for a part of this file."""
    return "\n".join(line if not line.startswith(("#", "<!--")) else f" {line}" for line in text.strip().splitlines())
