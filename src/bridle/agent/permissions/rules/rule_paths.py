"""Where a path really leads, whether that is inside the working folders, and which files are never changed unasked.

Links are resolved; nothing is opened and nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

# The kernel takes no longer one; a name that is longer can only be a mistake or an attack.
PATH_LIMIT_CHARACTERS: Final = 4096

# Changing one of these changes what a later command, or this program, does. Letters' case is not looked at: on some
# disks `.GIT/config` is `.git/config`.
_PROTECTED_NAMES: Final = """
.git .claude .vscode .idea .husky .devcontainer .ssh .bash_aliases .bash_login .bash_logout .bash_profile
.bashrc .claude.json .envrc .gitconfig .gitmodules .mcp.json .netrc .npmrc .profile .pypirc .ripgreprc
.tmux.conf .vimrc .yarnrc .yarnrc.yml .zlogin .zprofile .zshenv .zshrc
"""
_PROTECTED: Final = frozenset(_PROTECTED_NAMES.split())
# What every program may read from and write to.
STREAMS: Final = frozenset({"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"})
# More files than this are not looked at one by one for one wildcard.
LIMIT_MATCHES: Final = 2_000
# Looking through this many takes some tens of milliseconds.
LIMIT_ENTRIES: Final = 20_000


def resolve(path: str, cwd: str, home: str) -> str | None:
    """Where a path leads when every link in it is followed; None if that cannot be told.

    `..` after a link means the parent of what the link leads to, as the kernel has it. What does not exist yet
    resolves through the part that does.
    """
    if "\0" in path or len(path) > PATH_LIMIT_CHARACTERS:
        return None
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    whole = os.path.join(cwd, path)
    try:
        resolved = os.path.realpath(whole)
    except (OSError, ValueError):
        return None
    # A loop of links stays in what realpath gives back.
    return None if any(os.path.islink(part) for part in _parts(resolved)) else resolved


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether a resolved path is one of the folders or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_protected(path: str) -> bool:
    """Whether a change of this resolved path is never accepted unasked."""
    return protection(path) is not None


def protection(path: str) -> str | None:
    """The name in a resolved path, in small letters, for which it is protected."""
    return next((name for name in path.lower().split("/") if name in _PROTECTED), None)


def glob_matches(pattern: str, glob_at: int, cwd: str) -> list[str] | None:
    """Every path that a wildcard of the shell could stand for, and maybe some more; None if that cannot be told.

    `glob_at` is where in the pattern the first wildcard stands. The paths are as the shell would write them.
    """
    start = pattern.rfind("/", 0, glob_at) + 1
    found = [pattern[:start]]
    for name in pattern[start:].split("/"):
        nearer: list[str] = []
        for folder in found:
            entries = _entries(os.path.join(cwd, folder), name)
            if entries is None or len(nearer) + len(entries) > LIMIT_MATCHES:
                return None
            nearer += [f"{folder}{entry}/" for entry in entries]
        found = nearer
    return [path.rstrip("/") for path in found]


def links_below(folder: str) -> list[str] | None:
    """Where the links in a folder and in all folders below it lead; None if there is too much to look at."""
    found: list[str] = []
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
        found += [os.path.realpath(entry.path) for entry in entries if entry.is_symlink()]
        folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
    return found


def _entries(folder: str, pattern: str) -> list[str] | None:
    """The names in a folder that one part of a wildcard could mean; a part without one means itself."""
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
    seen = [name for name in names if name.startswith(prefix) and (prefix.startswith(".") or not name.startswith("."))]
    if "[" in pattern:
        return seen  # what stands in the brackets is not looked at: some names more do no harm
    from fnmatch import fnmatchcase

    return [name for name in seen if fnmatchcase(name, pattern)]


def matches(pattern: str, path: str, *, cwd: str, home: str) -> bool:
    """Whether the pattern of a file rule means this path, or a folder above it.

    `//x` starts at the root, `~/x` at home, `/x` and `./x` and every other one with a slash inside at the working
    folder; one without a slash means a name at any depth of the working folder.
    """
    base, rest = _anchor(pattern, cwd, home)
    if base != "/" and not is_inside(path, (base,)):
        return False
    relative = path[len(base) :].lstrip("/") if path != base else ""
    return _compiled(rest).fullmatch(relative) is not None


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


def _parts(path: str) -> Iterator[str]:
    """A path and every folder above it."""
    while path not in ("/", ""):
        yield path
        path = os.path.dirname(path)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    """The regular expression of a pattern, as in a .gitignore: `*` stays in one name, `**` does not."""
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
