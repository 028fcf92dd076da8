"""Where a path really leads, whether that is inside the working folders, and which files are never changed unasked.

Links are resolved; nothing is opened and nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

# The kernel takes no longer one; a name that is longer can only be a mistake or an attack.
PATH_LIMIT_CHARACTERS: Final = 4096

# Changing one of these changes what a later command, or this program, does. Letters' case is not looked at: on some
# disks `.GIT/config` is `.git/config`.
PROTECTED_FOLDERS: Final = frozenset({".git", ".claude", ".vscode", ".idea", ".husky", ".devcontainer"})
PROTECTED_FILES: Final = frozenset(
    {
        ".bash_aliases",
        ".bash_login",
        ".bash_logout",
        ".bash_profile",
        ".bashrc",
        ".claude.json",
        ".envrc",
        ".gitconfig",
        ".gitmodules",
        ".mcp.json",
        ".netrc",
        ".npmrc",
        ".profile",
        ".pypirc",
        ".ripgreprc",
        ".ssh",
        ".tmux.conf",
        ".vimrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".zlogin",
        ".zprofile",
        ".zshenv",
        ".zshrc",
    }
)
# Below .claude, what agents are asked to write in the course of their work.
_WORK_FOLDERS: Final = frozenset({"commands", "agents", "skills", "worktrees"})


def absolute(path: str, cwd: str, home: str) -> str:
    """The path from the root, with `~` and `..` taken away but links as they stand."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(cwd, path))


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
        # A loop of links stays in what realpath gives back.
        return None if os.path.islink(resolved) else resolved
    except (OSError, ValueError):
        return None


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether a resolved path is one of the folders or below one."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def is_protected(path: str) -> bool:
    """Whether a change of this resolved path is never accepted unasked."""
    names = path.lower().split("/")
    if names[-1] in PROTECTED_FILES or ".ssh" in names:
        return True
    for place, name in enumerate(names):
        if name == ".claude":
            rest = names[place + 1 :]
            if not (len(rest) > 1 and rest[0] in _WORK_FOLDERS):
                return True
        elif name in PROTECTED_FOLDERS:
            return True
    return False


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
