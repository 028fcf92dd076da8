"""Formats the results of a search: files, lines, or counts of lines. One page of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.search.glob import relative_path
from bridle.agent.tools.search.ripgrep import Root

# `12:text` is a matching line, `11-text` a context line.
_NUMBERED = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_COUNTED = re.compile(rb"([^\0]+)\0(\d+)\n")
_BETWEEN = b"--"
# How every name starts that ripgrep prints when it searches its working folder.
_START = b"./"

# Whether a rule denies reading a file: then a search does not report it either.
IsHidden = Callable[[str], bool]


class Page(Struct, frozen=True):
    """The requested part of a result."""

    limit: int | None
    offset: int

    def cut(self, items: list[str]) -> tuple[list[str], dict[str, int]]:
        """Return the part, and the limits that had an effect."""
        rest = items[self.offset :]
        applied: dict[str, int] = {}
        if self.limit is not None and len(rest) > self.limit:
            rest = rest[: self.limit]
            applied["appliedLimit"] = self.limit
        if self.offset:
            applied["appliedOffset"] = self.offset
        return rest, applied


def format_files(output: bytes, folder: Path, root: Root, page: Page, is_hidden: IsHidden) -> ToolResult:
    """Return the files with matches, most recently changed first."""
    paths = [path for name in output.split(b"\0") if name and not is_hidden(path := root.absolute(name))]
    names = [relative_path(path, folder) for path in sorted(paths, key=_latest_first)]
    shown, applied = page.cut(names)
    detail = {"mode": "files_with_matches", "filenames": shown, "numFiles": len(shown), **applied}
    if not shown:
        return ToolResult("No files found", detail=detail)
    limits = _describe_limits(applied)
    head = f"Found {len(shown)} {_plural('file', len(shown))}" + (f" {limits}" if limits else "")
    return ToolResult("\n".join([head, *shown]), detail=detail)


def format_lines(
    output: bytes, folder: Path, root: Root, page: Page, is_hidden: IsHidden, *, numbers: bool
) -> ToolResult:
    """Return the matching lines by file, with the path unless only one file was searched."""
    shown, applied = page.cut(_lines(output, folder, root, is_hidden, numbers=numbers))
    content = "\n".join(shown)
    detail = {"mode": "content", "numFiles": 0, "filenames": [], "content": content}
    limits = _describe_limits(applied)
    text = content or "No matches found"
    if limits:
        text += f"\n\n[Showing results with pagination = {limits}]"
    return ToolResult(text, detail={**detail, "numLines": len(shown), **applied})


def format_counts(output: bytes, folder: Path, root: Root, page: Page, is_hidden: IsHidden) -> ToolResult:
    """Return the number of matching lines in each file."""
    found = sorted((root.absolute(name), count) for name, count in _COUNTED.findall(output))
    lines = [f"{relative_path(path, folder)}:{count.decode('ascii')}" for path, count in found if not is_hidden(path)]
    shown, applied = page.cut(lines)
    total = sum(int(line.rpartition(":")[2]) for line in shown)
    content = "\n".join(shown)
    detail = {"mode": "count", "numFiles": len(shown), "filenames": [], "content": content, "numMatches": total}
    limits = _describe_limits(applied)
    summary = (
        f"Found {total} total {_plural('occurrence', total)} across {len(shown)} {_plural('file', len(shown))}."
        + (f" with pagination = {limits}" if limits else "")
    )
    return ToolResult(f"{content or 'No matches found'}\n\n{summary}", detail={**detail, **applied})


def _lines(output: bytes, folder: Path, root: Root, is_hidden: IsHidden, *, numbers: bool) -> list[str]:
    """Return the lines sorted by file; ripgrep searches files concurrently."""
    groups: dict[bytes, list[str]] = {}
    name, carried = b"", b""
    is_gap = has_gaps = False
    for line in output.removesuffix(b"\n").split(b"\n") if output else ():
        path, is_new, rest = line.partition(b"\0")
        if not is_new and line == _BETWEEN:
            is_gap = has_gaps = True
        elif not is_new and root.is_folder and line.startswith(_START):
            carried += line + b"\n"  # the file name contains a line break, or a multiline match continues
        elif not is_new:
            groups.setdefault(name, []).append(_text(line))  # a multiline match continues
        else:
            if carried and not os.path.lexists(root.absolute(carried + path)):
                groups.setdefault(name, []).extend(_text(part) for part in carried.splitlines())
                carried = b""
            if is_gap and carried + path == name:
                groups[name].append("--")
            name, carried, is_gap = carried + path, b"", False
            groups.setdefault(name, []).append(_line(root, name, rest, folder, numbers=numbers))
    if carried:
        groups.setdefault(name, []).extend(_text(part) for part in carried.splitlines())
    shown = [groups[name] for name in sorted(groups) if not is_hidden(root.absolute(name))]
    joined: list[str] = []
    for group in shown:
        joined += ["--", *group] if joined and has_gaps else group
    return joined


def _line(root: Root, name: bytes, rest: bytes, folder: Path, *, numbers: bool) -> str:
    parts = _NUMBERED.fullmatch(rest)
    if parts is None:
        return _text(rest)
    number, mark, text = parts[1].decode("ascii"), parts[2].decode("ascii"), _text(parts[3])
    # As in Claude Code: matching lines, and lines with a colon, have the relative path.
    whole = root.absolute(name)
    path = relative_path(whole, folder) if mark == ":" or ":" in text else _text(os.fsencode(whole))
    return ("" if root.is_file else path + mark) + (number + mark if numbers else "") + text


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").removesuffix("\r")


def _latest_first(path: str) -> tuple[float, str]:
    try:
        return -os.stat(path).st_mtime, path
    except OSError:
        return 0.0, path  # the file was removed


def _describe_limits(applied: dict[str, int]) -> str:
    names = {"appliedLimit": "limit", "appliedOffset": "offset"}
    return ", ".join(f"{names[name]}: {value}" for name, value in applied.items())


def _plural(word: str, count: int) -> str:
    return word if count == 1 else word + "s"
