"""Submodules and nested repositories with files that no commit contains: git stores only which commit one is at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bridle.loop.protection import baseline
from bridle.loop.protection.tree_changes import REPOSITORY, Change
from bridle.loop.working_copy.run_context import RunContext

_SETTINGS = ".gitmodules"
# A line of `git status` about a submodule with changed (M) or new (U) files in it.
_DIRTY_SUBMODULE = re.compile(r"1 .. S.(?:M.|.U) ")

# By the tree, which never changes.
_known: dict[str, Mapping[str, bool]] = {}
_KNOWN_TREES = 16


async def repositories_in(context: RunContext, tree: str) -> Mapping[str, bool]:
    """Return the paths of a tree that are commits of other repositories, and whether each is a declared submodule."""
    if tree not in _known:
        listed = [line.partition("\t") for line in await context.git.names("ls-tree", "-r", "-z", "--full-tree", tree)]
        names = [name for facts, _, name in listed if facts.startswith(REPOSITORY)]
        declared = await _declared(context, tree) if names else frozenset()
        while len(_known) >= _KNOWN_TREES:
            del _known[next(iter(_known))]
        _known[tree] = {name: name in declared for name in names}
    return _known[tree]


async def _declared(context: RunContext, tree: str) -> frozenset[str]:
    words = ("config", "--blob", f"{tree}:{_SETTINGS}", "--no-includes", "-z", "--get-regexp", r"^submodule\..*\.path$")
    code, text = await context.git.run(*words, accepts=tuple(range(256)))
    return frozenset(entry.partition("\n")[2].rstrip("/") for entry in text.split("\0")) if code == 0 else frozenset()


async def nested_changes(context: RunContext, start: str, changes: Sequence[Change]) -> list[str]:
    """Return those of the changes that are commits of repositories which the start tree has not as submodules.

    Such a commit is in no repository but the nested one; what `.gitmodules` says about it is the agent's word.
    """
    changed = [change.path for change in changes if change.mode == REPOSITORY]
    known = await repositories_in(context, start) if changed else {}
    return [name for name in changed if not known.get(name)]


async def empty_in_clones(context: RunContext, start: str) -> list[str]:
    """Return the submodules that are not checked out, and have files that were written during the run."""
    since = baseline.began(context)
    if since is None:
        return []
    names = [name for name in await repositories_in(context, start) if not _has_git(context.folder / name)]
    return [name for name in names if any(written >= since for written in _times(context.folder / name))]


async def dirty_submodules(context: RunContext) -> list[str]:
    """Return the submodules with uncommitted changes."""
    start = baseline.find(context)
    known = await repositories_in(context, start.work) if start is not None else {}
    if not known and not os.path.lexists(context.folder / _SETTINGS):
        return []
    arguments = ("status", "--porcelain=v2", "-z", "--untracked-files=no", "--ignore-submodules=none")
    return [line.split(" ", 8)[8] for line in await context.git.names(*arguments) if _DIRTY_SUBMODULE.match(line)]


def has_files(folder: Path) -> bool:
    """Return whether a folder has anything in it."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _has_git(folder: Path) -> bool:
    return os.path.lexists(folder / ".git")


def _times(folder: Path) -> Iterator[float]:
    """Yield when each file below a folder was written or its times were set, which no program can choose."""
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                yield os.lstat(os.path.join(root, name)).st_ctime
            except OSError:
                continue
