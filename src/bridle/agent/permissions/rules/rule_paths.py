"""Matches resolved paths with rules, expands globs, and lists the protected files.

Nothing is opened and nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

# Changing one of these changes what a later command, or this program, does. Compared without case: on some disks
# `.GIT/config` is `.git/config`.
_PROTECTED_NAMES: Final = """
.git .claude .vscode .idea .husky .devcontainer .ssh .bash_aliases .bash_login .bash_logout .bash_profile
.bashrc .claude.json .envrc .gitconfig .gitmodules .mcp.json .netrc .npmrc .profile .pypirc .ripgreprc
.tmux.conf .vimrc .yarnrc .yarnrc.yml .zlogin .zprofile .zshenv .zshrc
"""
_PROTECTED: Final = frozenset(_PROTECTED_NAMES.split())
# Paths that every program may read and write.
STREAMS: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
# The most matches of one glob that are checked singly.
LIMIT_MATCHES: Final = 2_000
# Scanning this many takes some tens of milliseconds.
LIMIT_ENTRIES: Final = 20_000


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Return whether a resolved path is one of the folders or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_protected(path: str) -> bool:
    """Return whether changing this resolved path always needs approval."""
    return protection(path) is not None


def protection(path: str) -> str | None:
    """Return the lower-case name in a resolved path that protects it, or None."""
    return next((name for name in path.lower().split("/") if name in _PROTECTED), None)


def split_pattern(pattern: str, folder: str) -> tuple[str, str]:
    """Split the pattern of a search into the folder to search and the rest; only an absolute one names a folder."""
    if not pattern.startswith("/"):
        return folder, pattern
    parts = pattern.split("/")
    wild = next((place for place, part in enumerate(parts) if set("*?[{") & set(part)), len(parts) - 1)
    return "/".join(parts[:wild]) or "/", "/".join(parts[wild:])


def glob_matches(pattern: str, glob_at: int, cwd: str) -> list[str] | None:
    """Return every path that a shell glob could match, and maybe more; None if there are too many.

    `glob_at` is the position of the first wildcard. The paths are as the shell would write them.
    """
    start = pattern.rfind("/", 0, glob_at) + 1
    paths = [pattern[:start]]
    for name in pattern[start:].split("/"):
        deeper: list[str] = []
        for folder in paths:
            entries = _entries(os.path.join(cwd, folder), name)
            if entries is None or len(deeper) + len(entries) > LIMIT_MATCHES:
                return None
            deeper += [f"{folder}{entry}/" for entry in entries]
        paths = deeper
    return [path.rstrip("/") for path in paths]


def links_below(folder: str) -> list[str] | None:
    """Return the targets of all links below a folder; None if there are too many entries."""
    targets: list[str] = []
    left, folders = LIMIT_ENTRIES, [folder]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except NotADirectoryError:
            continue
        except OSError:
            return None
        left -= len(entries)
        if left < 0:
            return None
        targets += [os.path.realpath(entry.path) for entry in entries if entry.is_symlink()]
        folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return targets


def _entries(folder: str, pattern: str) -> list[str] | None:
    """Return the names in a folder that one part of a glob could match; a part without wildcards is itself."""
    place = min((index for sign in "*?[" if (index := pattern.find(sign)) >= 0), default=-1)
    if place < 0:
        return [pattern]
    prefix = pattern[:place]
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError:
        return None
    candidates = [
        name for name in names if name.startswith(prefix) and (prefix.startswith(".") or not name.startswith("."))
    ]
    if "[" in pattern:
        return candidates  # brackets are not evaluated: too many names do no harm
    from fnmatch import fnmatchcase

    return [name for name in candidates if fnmatchcase(name, pattern)]


def matches_any_case(pattern: str, path: str, *, cwd: str, home: str) -> bool:
    """Return the same as `matches`, for rules that deny: on some disks `.ENV` is `.env`."""
    return matches(pattern.lower(), path.lower(), cwd=cwd.lower(), home=home.lower())


def matches(pattern: str, path: str, *, cwd: str, home: str) -> bool:
    """Return whether the pattern of a file rule matches this path or a folder above it.

    `//x` starts at the root, `~/x` at home; `/x`, `./x` and every other pattern with a slash inside start at the
    working folder; a pattern without a slash matches a name at any depth of the working folder.
    """
    base, rest = _anchor(pattern, cwd, home)
    if base != "/" and not is_inside(path, (base,)):
        return False
    relative = path[len(base) :].lstrip("/") if path != base else ""
    return _compile(rest).fullmatch(relative) is not None


def pattern_folder(pattern: str, cwd: str, home: str) -> str:
    """Return the deepest existing folder, or file, that has everything which a pattern of a file rule can match."""
    base, rest = _anchor(pattern, cwd, home)
    if "/" not in rest.rstrip("/"):
        return base
    for part in rest.strip("/").split("/"):
        deeper = os.path.join(base, part)
        if set("*?") & set(part) or not os.path.lexists(deeper):
            break
        base = deeper
    return base


def _anchor(pattern: str, cwd: str, home: str) -> tuple[str, str]:
    if pattern.startswith("//"):
        return "/", pattern[1:]
    if pattern == "~" or pattern.startswith("~/"):
        return home, pattern[1:] or "/"
    if pattern.startswith("./"):
        return cwd, pattern[1:]
    folder = cwd
    while pattern.startswith("../"):
        folder, pattern = os.path.dirname(folder), pattern[3:]
        if not pattern.startswith("../"):
            return folder, "/" + pattern
    return folder, pattern


@lru_cache(maxsize=512)
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern as in .gitignore: `*` matches within one name, `**` across folders."""
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    text = "" if anchored else "(?:.*/)?"
    place = 0
    while place < len(body):
        if body.startswith("**/", place):
            text += "(?:.*/)?"
            place += 3
        elif body.startswith("**", place):
            text += ".*"
            place += 2
        elif body[place] == "*":
            text += "[^/]*"
            place += 1
        elif body[place] == "?":
            text += "[^/]"
            place += 1
        else:
            text += re.escape(body[place])
            place += 1
    return re.compile(f"{text}(?:/.*)?" if body else ".*", re.DOTALL)
