"""`.ralph/progress.md`: what was done and learned, for users and prompts. One entry for each iteration."""

from __future__ import annotations

import re
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
# What moves the cursor of a terminal, writes to its clipboard, or shows text in another order.
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u2069]")


def read(workspace: Path) -> str:
    """Return the file, or its end if it is too long; empty where it cannot be read."""
    data = disk.read_part(workspace / FILE, LIMIT_BYTES, from_end=True, follow_links=False)
    return "" if data is None else data.decode("utf-8", "replace")


def _write(workspace: Path, learned: Sequence[str], entries: str) -> None:
    """Write the file, and replace whatever an agent has put there."""
    path = workspace / FILE
    facts = "\n".join(f"- {line}" for line in learned)
    text = _CONTROLS.sub("", f"# Progress\n\n{PATTERNS}\n\n{facts}\n\n{ENTRIES}\n{entries}")
    disk.make_private_folder(path.parent)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    disk.write_atomic(path, text.encode("utf-8", "surrogateescape"))


def add(workspace: Path, *, key: str, title: str, summary: str, patterns: Sequence[str]) -> None:
    """Add the entry of an iteration, once, and the facts that are new."""
    mark = f"<!-- {key} -->"
    with _lock(workspace):
        text = read(workspace)
        if _has_entry(text, mark):
            return
        learned, entries = _parts(text)
        new = dict.fromkeys(" ".join(fact.split()) for fact in patterns)
        learned += [line for line in new if line and line not in learned]
        _write(workspace, learned, f"{entries}\n### {title} {mark}\n\n{_plain_lines(summary)}\n")


def remove_run(workspace: Path, run: str) -> None:
    """Remove the entries of a run that was undone: its work is no longer there. The facts stay."""
    if not (workspace / FILE).is_file():
        return
    with _lock(workspace):
        learned, entries = _parts(read(workspace))
        head, *sections = re.split(r"(?m)^(?=### )", entries)
        mark = re.compile(rf"### .*<!-- {re.escape(run)}/[^\n]* -->$", re.MULTILINE)
        kept = [section for section in sections if not mark.match(section)]
        if len(kept) < len(sections):
            _write(workspace, learned, head + "".join(kept))


def fold(workspace: Path, *, key: str, summary: str, of: str | None = None) -> None:
    """Replace the entries that a summary covers; newer entries and the facts stay."""
    mark = f"<!-- {key} -->"
    with _lock(workspace):
        text = read(workspace)
        if _has_entry(text, mark):
            return
        learned, entries = _parts(text)
        covered = entries if of is None else _parts(of)[1]
        since = entries.removeprefix(covered) if entries.startswith(covered) else ""
        _write(workspace, learned, f"\n### Summary so far {mark}\n\n{_plain_lines(summary)}\n{since}")


def _lock(workspace: Path) -> FileLock:
    """Lock the file, which several workers and runs read and then write."""
    disk.make_private_folder((workspace / LOCK).parent)
    return FileLock.hold(workspace / LOCK, holder="progress", wait_seconds=LOCK_SECONDS)


def _has_entry(text: str, mark: str) -> bool:
    """Return whether an entry has this mark; an agent's text may contain it too."""
    return mark in text and any(line.startswith("### ") and line.endswith(mark) for line in text.splitlines())


def _parts(text: str) -> tuple[list[str], str]:
    """Return the facts, and the entries."""
    after = _after_heading(text, PATTERNS)[1]
    learned, entries = _after_heading(after, ENTRIES)
    lines = [line[2:].strip() for line in learned.splitlines() if line.startswith("- ")]
    return lines, entries.lstrip("\n") and "\n" + entries.lstrip("\n")


def _after_heading(text: str, heading: str) -> tuple[str, str]:
    """Split a text at a heading, which is a line of its own: a fact may contain the same words."""
    before, *after = re.split(rf"(?m)^{heading}[ \t\r]*$", text, maxsplit=1)
    return before, "".join(after)


def _plain_lines(text: str) -> str:
    """Indent lines of an agent's text that could be taken for a part of this file."""
    return "\n".join(line if not line.startswith(("#", "<!--")) else f" {line}" for line in text.strip().splitlines())
