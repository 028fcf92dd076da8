"""A file change as the lines of a unified diff, in bounded time whatever the file's size."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator

from bridle.wire.transcript.clip import Clip
from bridle.wire.transcript.items import FileChange
from bridle.wire.transcript.tool_details import Hunk

# More than a user reads of one change; the log has the rest.
KEPT_LINES = 400
# A longer line is generated or minified; its beginning is enough to recognise it.
KEPT_LINE_CHARACTERS = 2000
# A comparison is quadratic at worst: half a second at this size on a slow machine. Larger texts are compared by
# their common beginning and end only.
COMPARED_LINES = 2000
_HUNK = "@@"


def from_patch(path: str, action: str, patch: Iterable[Hunk], clip: Clip) -> FileChange:
    """Return the change that a tool reported as hunks."""
    return _change(path, action, _patch_lines(patch), clip)


def from_texts(path: str, action: str, pairs: Iterable[tuple[str, str]], clip: Clip) -> FileChange:
    """Return the change from old to new text, for one or several places in a file.

    Where these places are is not known, so a hunk begins with a bare `@@`, and the first one with its lines.
    """
    lines = (_without_place(line) for old, new in pairs for line in _compare(old, new))
    first = next(lines, None)
    return _change(path, action, lines if first in (None, _HUNK) else itertools.chain([first], lines), clip)


def _change(path: str, action: str, lines: Iterable[str], clip: Clip) -> FileChange:
    kept: list[str] = []
    added = removed = total = 0
    for line in lines:
        total += 1
        added += line.startswith("+")
        removed += line.startswith("-")
        if total <= KEPT_LINES:
            kept.append(clip(line, KEPT_LINE_CHARACTERS).text)
    return FileChange(
        path=path,
        action=action,
        lines=tuple(kept),
        added=added,
        removed=removed,
        omitted_lines=max(total - KEPT_LINES, 0),
    )


def _without_place(line: str) -> str:
    return _HUNK if line.startswith(_HUNK) else line


def _patch_lines(patch: Iterable[Hunk]) -> Iterator[str]:
    for hunk in patch:
        yield f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@"
        yield from (line for line in hunk.lines if isinstance(line, str))


def _compare(old: str, new: str) -> Iterator[str]:
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > COMPARED_LINES:
        return _compare_ends(before, after)
    return (line.rstrip("\n") for line in list(difflib.unified_diff(before, after, lineterm="", n=3))[2:])


def _compare_ends(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield one hunk: the lines between the common beginning and the common end."""
    shortest = min(len(before), len(after))
    head = next((i for i in range(shortest) if before[i] != after[i]), shortest)
    rest = shortest - head
    tail = next((i for i in range(rest) if before[-1 - i] != after[-1 - i]), rest)
    removed, added = before[head : len(before) - tail], after[head : len(after) - tail]
    if removed or added:
        yield f"@@ -{head + 1},{len(removed)} +{head + 1},{len(added)} @@"
    yield from (f"-{line}" for line in removed)
    yield from (f"+{line}" for line in added)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
