"""Computes the difference of two texts as hunks, in the format of Claude Code.

Uses Myers' algorithm, which searches the shortest edit script along diagonals. Of several shortest scripts it finds the
one that Claude Code finds.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

# Context lines of a hunk before and after a change.
_CONTEXT = 3
# The search is quadratic in the length of the edit script. After so many steps (about half a second) the rest is shown
# as replaced.
_STEP_LIMIT = 300_000
# A larger patch is not useful; Claude Code has none for such texts either.
_LINE_LIMIT = 20_000
_NO_NEWLINE = "\\ No newline at end of file"
_LEADING_TABS = re.compile(r"^\t+", re.MULTILINE)

_SAME, _REMOVED, _ADDED = " ", "-", "+"
_Run = tuple[str, list[str]]

Hunk: TypeAlias = dict[str, Any]
"""A hunk of `structuredPatch`, as the event has it."""


def structured_patch(old: str, new: str) -> list[Hunk]:
    """Return the hunks between two texts, with each leading tab as two spaces.

    The list is empty if the texts are equal or too different.
    """
    if old == new:
        return []
    hunks = _hunks(_runs(_lines(_expand_tabs(old)), _lines(_expand_tabs(new))))
    return [] if sum(len(hunk["lines"]) for hunk in hunks) > _LINE_LIMIT else hunks


def _expand_tabs(text: str) -> str:
    return _LEADING_TABS.sub(lambda tabs: "  " * len(tabs.group()), text)


def _lines(text: str) -> list[str]:
    """Split at LF only, and keep it."""
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])


def _runs(old: list[str], new: list[str]) -> list[_Run]:
    """Return the runs of unchanged, removed and added lines, in order."""
    start = _common(old, new)
    rest_old, rest_new = old[start:], new[start:]
    runs: list[_Run] = []
    for kind, lines in [(_SAME, old[:start]), *(_shortest(rest_old, rest_new) or _replace(rest_old, rest_new))]:
        if runs and runs[-1][0] == kind:
            runs[-1][1].extend(lines)
        elif lines:
            runs.append((kind, list(lines)))
    return runs


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    for left, right in zip(first, second, strict=False):
        if left != right:
            break
        count += 1
    return count


def _replace(old: list[str], new: list[str]) -> list[_Run]:
    """Return all lines before the common end as replaced."""
    end = _common(old[::-1], new[::-1])
    last_old, last_new = len(old) - end, len(new) - end
    return [(_REMOVED, old[:last_old]), (_ADDED, new[:last_new]), (_SAME, old[last_old:])]


def _shortest(old: list[str], new: list[str]) -> list[_Run]:
    """Return the runs of the shortest edit script; empty if nothing is common or the limit was reached."""
    if set(old).isdisjoint(new):
        return []
    runs: list[_Run] = []
    removed: list[str] = []
    added: list[str] = []
    left = right = 0
    for step in _edit_steps(old, new):
        if step == _REMOVED:
            removed.append(old[left])
            left += 1
        elif step == _ADDED:
            added.append(new[right])
            right += 1
        else:
            runs += [(_REMOVED, removed), (_ADDED, added), (_SAME, [old[left]])]
            removed, added = [], []
            left += 1
            right += 1
    return [*runs, (_REMOVED, removed), (_ADDED, added)] if left + right else []


# A point of an edit path: its position in the old text, and its steps as a linked list (kind, count, previous).
_Chain = tuple[str, int, Any]
_Point = tuple[int, _Chain | None]


def _edit_steps(old: list[str], new: list[str]) -> list[str]:
    """Return the steps of the shortest edit script; empty if the limit was reached."""
    best: dict[int, _Point] = {}
    best[0] = _slide((-1, None), 0, old, new)
    lowest, highest, taken = -len(new), len(old), 0
    for length in range(1, len(old) + len(new) + 1):
        for diagonal in range(max(lowest, -length), min(highest, length) + 1):
            if (diagonal - length) % 2:
                continue
            branched = _branch(best, diagonal, old, new)
            if branched is None:
                best.pop(diagonal, None)
                continue
            point = _slide(branched, diagonal, old, new)
            taken += 1 + point[0] - branched[0]
            if taken > _STEP_LIMIT:
                return []
            if _is_end(point, diagonal, old, new):
                return _unroll(point)
            best[diagonal] = point
            if point[0] + 1 >= len(old):
                highest = min(highest, diagonal - 1)
            if point[0] - diagonal + 1 >= len(new):
                lowest = max(lowest, diagonal + 1)
    return []


def _branch(best: dict[int, _Point], diagonal: int, old: list[str], new: list[str]) -> _Point | None:
    """Step to this diagonal from the neighbour that is further in the old text."""
    by_removing = best.pop(diagonal - 1, None)
    by_adding = best.get(diagonal + 1)
    can_remove = by_removing is not None and by_removing[0] + 1 < len(old)
    can_add = by_adding is not None and 0 <= by_adding[0] - diagonal < len(new)
    if by_adding is not None and can_add and (by_removing is None or not can_remove or by_removing[0] < by_adding[0]):
        return by_adding[0], _longer(by_adding[1], _ADDED, 1)
    if by_removing is not None and can_remove:
        return by_removing[0] + 1, _longer(by_removing[1], _REMOVED, 1)
    return None


def _slide(point: _Point, diagonal: int, old: list[str], new: list[str]) -> _Point:
    """Follow the lines that both texts have."""
    left = point[0]
    right = left - diagonal
    count = 0
    while left + 1 < len(old) and right + 1 < len(new) and old[left + 1] == new[right + 1]:
        left += 1
        right += 1
        count += 1
    return left, (_longer(point[1], _SAME, count) if count else point[1])


def _is_end(point: _Point, diagonal: int, old: list[str], new: list[str]) -> bool:
    return point[0] + 1 >= len(old) and point[0] - diagonal + 1 >= len(new)


def _longer(chain: _Chain | None, kind: str, count: int) -> _Chain:
    if chain is not None and chain[0] == kind:
        return kind, chain[1] + count, chain[2]
    return kind, count, chain


def _unroll(point: _Point) -> list[str]:
    pieces: list[str] = []
    chain = point[1]
    while chain is not None:
        pieces.append(chain[0] * chain[1])
        chain = chain[2]
    return list("".join(reversed(pieces)))


def _hunks(runs: list[_Run]) -> list[Hunk]:
    hunks: list[Hunk] = []
    lines: list[str] = []
    old_line = new_line = 1
    old_start = new_start = 0
    for index, (kind, run) in enumerate(runs):
        if kind == _SAME:
            if lines:
                is_last = index == len(runs) - 1
                shown = run if len(run) <= 2 * _CONTEXT and not is_last else run[:_CONTEXT]
                lines += _marked(kind, shown)
                if is_last or len(run) > 2 * _CONTEXT:
                    hunks.append(_hunk(old_start, old_line + len(shown), new_start, new_line + len(shown), lines))
                    lines = []
            old_line += len(run)
            new_line += len(run)
            continue
        if not lines:
            before = runs[index - 1][1][-_CONTEXT:] if index else []
            lines = _marked(_SAME, before)
            old_start, new_start = old_line - len(before), new_line - len(before)
        lines += _marked(kind, run)
        if kind == _REMOVED:
            old_line += len(run)
        else:
            new_line += len(run)
    if lines:
        hunks.append(_hunk(old_start, old_line, new_start, new_line, lines))
    return hunks


def _marked(kind: str, run: list[str]) -> list[str]:
    marked: list[str] = []
    for line in run:
        if line.endswith("\n"):
            marked.append(kind + line[:-1])
        else:
            marked += [kind + line, _NO_NEWLINE]
    return marked


def _hunk(old_start: int, old_end: int, new_start: int, new_end: int, lines: list[str]) -> Hunk:
    return {
        "oldStart": old_start,
        "oldLines": old_end - old_start,
        "newStart": new_start,
        "newLines": new_end - new_start,
        "lines": lines,
    }
