"""`.ralph/progress.md`: what was done and learned, for users and prompts. One entry for each iteration."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from bridle.ground import disk
from bridle.ground.lock import FileLock

FILE = ".ralph/progress.md"
LOCK = ".ralph/state/progress.lock"
# Reading and writing a few kilobytes takes much less.
LOCK_SECONDS = 10.0
# How much of its end is read, where the newest entries are.
LIMIT_BYTES = 4 * 1024 * 1024
PATTERNS = "## What was learned"
ENTRIES = "## Iterations"


def read(workspace: Path) -> str:
    """Return the file, or its end if it is too long; empty where it cannot be read."""
    data = disk.read_part(workspace / FILE, LIMIT_BYTES, from_end=True, follow_links=False)
    return "" if data is None else data.decode("utf-8", "replace")


def _write(workspace: Path, text: str) -> None:
    """Write the file, and replace whatever an agent has put there."""
    path = workspace / FILE
    disk.make_private_folder(path.parent)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    disk.write_atomic(path, text.encode("utf-8", "surrogateescape"))


def add(workspace: Path, *, key: str, title: str, summary: str, patterns: Sequence[str]) -> None:
    """Add the entry of an iteration, once, and the facts that are new."""
    with _lock(workspace):
        _add(workspace, key, title, summary, patterns)


def fold(workspace: Path, *, key: str, summary: str, of: str | None = None) -> None:
    """Replace the entries that a summary covers; newer entries and the facts stay."""
    with _lock(workspace):
        _fold(workspace, key, summary, of)


def _lock(workspace: Path) -> FileLock:
    """Lock the file, which several workers and runs read and then write."""
    disk.make_private_folder((workspace / LOCK).parent)
    return FileLock.hold(workspace / LOCK, holder="progress", wait_seconds=LOCK_SECONDS)


def _add(workspace: Path, key: str, title: str, summary: str, patterns: Sequence[str]) -> None:
    text = read(workspace)
    mark = f"<!-- {key} -->"
    if mark in text:
        return
    learned, entries = _parts(text)
    known = set(learned)
    learned += [line for line in dict.fromkeys(_one_line(fact) for fact in patterns) if line and line not in known]
    entries += f"\n### {title} {mark}\n\n{_plain_lines(summary)}\n"
    body = "\n".join(f"- {line}" for line in learned)
    whole = f"# Progress\n\n{PATTERNS}\n\n{body}\n\n{ENTRIES}\n{entries}"
    _write(workspace, whole)


def _fold(workspace: Path, key: str, summary: str, of: str | None) -> None:
    text = read(workspace)
    mark = f"<!-- {key} -->"
    if mark in text:
        return
    learned, entries = _parts(text)
    _, covered = _parts(text if of is None else of)
    since = entries.removeprefix(covered) if entries.startswith(covered) else ""
    body = "\n".join(f"- {line}" for line in learned)
    summed = f"### Summary so far {mark}\n\n{_plain_lines(summary)}\n{since}"
    whole = f"# Progress\n\n{PATTERNS}\n\n{body}\n\n{ENTRIES}\n\n{summed}"
    _write(workspace, whole)


def _parts(text: str) -> tuple[list[str], str]:
    """Return the facts, and the entries."""
    _, _, after = text.partition(PATTERNS)
    learned, _, entries = after.partition(ENTRIES)
    lines = [line[2:].strip() for line in learned.splitlines() if line.startswith("- ")]
    return lines, entries.lstrip("\n") and "\n" + entries.lstrip("\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _plain_lines(text: str) -> str:
    """Indent lines of an agent's text that could be taken for a part of this file."""
    return "\n".join(line if not line.startswith(("#", "<!--")) else f" {line}" for line in text.strip().splitlines())
