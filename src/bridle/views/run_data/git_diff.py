"""The output of `git diff` as JSON values: files, hunks, and lines with their numbers. Pure."""

from __future__ import annotations

import re
from typing import Any

from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask

# More than a user reads of one file or one diff; git has the rest.
FILE_LINES = 3000
DIFF_LINES = 30_000
LINE_CHARACTERS = 2000
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d+)? \+(\d{1,9})(?:,\d+)? @@")
SAME, ADDED, REMOVED = " ", "+", "-"
TYPE_CHANGED = "type changed"


def parse_diff(sections: list[str], names: list[JsonObject], mask: Mask) -> list[JsonObject]:
    """Return the files of a diff, from the section and the name of each.

    Each section is masked for itself: what looks like the beginning of a key in one file must not hide the next.
    """
    files: list[JsonObject] = []
    left = DIFF_LINES
    for section, name in zip(sections, names, strict=True):
        masked = mask.apply(section)
        file = {**name, "hunks": [], "omitted": section.count("\n") - masked.count("\n"), "is_binary": False}
        left -= _read_section(masked, file, min(left, FILE_LINES))
        files.append(file)
    return files


def split_sections(text: str, names: list[JsonObject]) -> list[str]:
    """Return the part of a diff that is about each file; `names` are those of `parse_names` for the same diff.

    Names are not read from the diff, which quotes them. Of a file that becomes a link, or the other way round, git
    prints two parts: one that deletes it and one that adds it.
    """
    parts = re.split(r"^diff --git .*\n", text, flags=re.MULTILINE)[1:]
    sections: list[str] = []
    for name in names:
        count = 2 if name["status"] == TYPE_CHANGED else 1
        sections.append("".join((*parts[:1], *map(_without_header, parts[1:count]))))
        parts = parts[count:]
    return sections


def is_binary(section: str) -> bool:
    """Return whether git shows no lines of a file, since it is binary or an attribute says so."""
    return re.search(r"^(?:Binary files |GIT binary patch)", section, flags=re.MULTILINE) is not None


def parse_names(text: str) -> list[JsonObject]:
    """Return the files of `git diff --raw -z`: path, old path and status."""
    words = text.split("\0")
    files: list[JsonObject] = []
    while len(words) >= 2 and words[0].startswith(":"):
        letter = words[0].rsplit(" ", 1)[-1][:1]
        if letter in ("R", "C"):
            old, path, words = words[1], words[2], words[3:]
        else:
            old, path, words = words[1], words[1], words[2:]
        files.append({"path": path, "old_path": old if old != path else None, "status": _LETTERS.get(letter, letter)})
    return files


def parse_counts(text: str) -> list[tuple[int | None, int | None]]:
    """Return the added and removed lines of each file of `git diff --numstat -z`; None for binary files."""
    counts: list[tuple[int | None, int | None]] = []
    for word in text.split("\0"):
        match = re.match(r"\n?(\d+|-)\t(\d+|-)\t", word)
        if match:
            added, removed = (None if part == "-" else int(part) for part in match.groups())
            counts.append((added, removed))
    return counts


_LETTERS = {"A": "added", "D": "deleted", "M": "changed", "R": "renamed", "C": "copied", "T": TYPE_CHANGED}


def _without_header(part: str) -> str:
    return part[part.index("@@ -") :] if "@@ -" in part else ""


def _read_section(section: str, file: dict[str, Any], limit: int) -> int:
    """Read the hunks of one file; return how many lines were kept."""
    kept = 0
    old = new = 0
    hunk: dict[str, Any] | None = None
    for line in section.split("\n"):
        header = _HUNK.match(line)
        if header is not None:
            old, new = int(header[1]), int(header[2])
            hunk = {"header": line[:LINE_CHARACTERS], "lines": []}
            file["hunks"].append(hunk)
        elif hunk is None:
            file["is_binary"] |= is_binary(line)
        elif line[:1] in (SAME, ADDED, REMOVED):
            mark = line[0]
            if kept < limit:
                text = line[1 : LINE_CHARACTERS + 1]
                hunk["lines"].append([mark, None if mark == ADDED else old, None if mark == REMOVED else new, text])
                kept += 1
            else:
                file["omitted"] += 1
            old, new = old + (mark != ADDED), new + (mark != REMOVED)
    return kept
