"""Where Bridle looks for the programs that it starts outside of a sandbox: not where an agent can write.

An activated `.venv/bin` or `node_modules/.bin` is on the user's PATH, and an agent can put a `git` into it. Agents and
checks themselves keep the whole PATH.
"""

from __future__ import annotations

import os

from bridle.ground import git_folder
from bridle.ground.light.abc_names import Iterable, Iterator, Mapping

VARIABLE = "PATH"
_NOWHERE = "/nonexistent"

# Folders outside of repositories that the user lets sandboxed agents write to.
_writable: set[str] = set()


def add_writable(folders: Iterable[str | os.PathLike[str]]) -> None:
    """Exclude folders that a sandbox makes writable, for the rest of this process."""
    for folder in folders:
        _writable.update(_names(os.fspath(folder)))


def outside_path(environment: Mapping[str, str], folder: str | os.PathLike[str]) -> str:
    """Return the PATH without relative entries, and without those in the repository that the folder is in."""
    excluded = _excluded(environment, folder)
    kept = [entry for entry in _entries(environment) if _is_outside(entry, excluded)]
    return os.pathsep.join(kept) or _NOWHERE  # an empty PATH is the current folder


def outside_environment(environment: Mapping[str, str], folder: str | os.PathLike[str]) -> dict[str, str]:
    """Return the environment with such a PATH, for a program that starts others by name."""
    return {**environment, VARIABLE: outside_path(environment, folder)}


def find_outside(name: str, environment: Mapping[str, str], folder: str | os.PathLike[str]) -> str | None:
    """Return the absolute path of a program that no agent can have written; None if it was not found."""
    excluded = _excluded(environment, folder)
    if os.path.dirname(name):
        path = os.path.abspath(name)
        return path if _is_program(path) and not _is_in(path, excluded) else None
    # The files first: where links lead takes longer to find out.
    places = ((entry, os.path.join(entry, name)) for entry in _entries(environment))
    usable = ((entry, path) for entry, path in places if _is_program(path) and _is_outside(entry, excluded))
    return next((path for _, path in usable if not _is_in(path, excluded)), None)


def is_inside(path: str, environment: Mapping[str, str], folder: str | os.PathLike[str]) -> bool:
    """Return whether a file is, or leads to, what an agent in this folder can write."""
    return _is_in(path, _excluded(environment, folder))


def _entries(environment: Mapping[str, str]) -> list[str]:
    return environment.get(VARIABLE, os.defpath).split(os.pathsep)


def _is_outside(entry: str, excluded: frozenset[str]) -> bool:
    """Return whether an entry of the PATH is absolute, and no agent can write to it."""
    return os.path.isabs(entry) and not _is_in(entry, excluded)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _excluded(environment: Mapping[str, str], folder: str | os.PathLike[str]) -> frozenset[str]:
    return frozenset((*_writable, *(name for top in _tops(environment, folder) for name in _names(top))))


def _tops(environment: Mapping[str, str], folder: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the tops of the repositories that a folder is in, and of the other worktrees of the innermost.

    All of them, since an agent can make a repository around the current folder. A repository of the whole home counts
    only where Bridle works in itself: it has the programs of the user.
    """
    home = os.path.realpath(environment.get("HOME") or "/")
    for start in _names(os.fspath(folder)):
        tops = [above for above in _with_parents(start) if os.path.lexists(f"{above}/.git")]
        if not tops:
            yield from () if _is_below(home, start) else (start,)
            continue
        yield from (top for top in tops if top == tops[0] or not _is_below(home, top))
        own = git_folder.git_folder(tops[0])
        if own is not None:
            yield from _worktrees(git_folder.common_folder(own))


def _worktrees(common: str) -> Iterator[str]:
    common = os.path.realpath(common)
    if os.path.basename(common) == ".git":
        yield os.path.dirname(common)
    try:
        names = os.listdir(f"{common}/worktrees")
    except OSError:
        return  # there are none
    for name in names:
        place = git_folder.read_path(f"{common}/worktrees/{name}/gitdir")
        if place is not None:
            yield os.path.dirname(os.path.join(common, "worktrees", name, place))


def _names(path: str) -> tuple[str, ...]:
    """Return a path as it is named, and without links: an agent can replace a link in what it can write."""
    return tuple(dict.fromkeys((os.path.abspath(path), os.path.realpath(path))))


def _with_parents(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = os.path.dirname(path)


def _is_in(path: str, folders: Iterable[str]) -> bool:
    return any(_is_below(name, folder) for name in _names(path) for folder in folders)


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")
