"""Files that a checkout of the work would write differently: checks see what is on the disk, a clone has the other.

Git may convert bytes (line endings, filters), may not store a mode (`core.fileMode=false`), and stores of a submodule
only its commit.
"""

from __future__ import annotations

import filecmp
import os
import shutil
import stat
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from bridle.errors import GitError
from bridle.loop.protection import baseline
from bridle.loop.protection.git_files.submodules import dirty_submodules
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import files_index, private_indexes
from bridle.workspace.git import Git
from bridle.workspace.nested_git import nested_git
from bridle.workspace.snapshot import changes

CONVERTED = "git stores other bytes"
MODE = "git does not store that it is executable, or not"
SUBMODULE = "no commit of the submodule contains it"
_ATTRIBUTES = ".gitattributes"
_EXECUTABLE = 0o111


class UnlikeCheckout(Struct, frozen=True):
    """A file that differs from what a checkout writes."""

    name: str
    why: str
    checked_out: Path | None
    """The file that a checkout writes; None if it writes none."""


@asynccontextmanager
async def unlike_checkout(context: RunContext, work: str, exact: str) -> AsyncIterator[list[UnlikeCheckout]]:
    """Yield the files that were written during the run and differ from a checkout of the tree `work`.

    `exact` is the tree of all files, byte for byte. The files of the checkout exist as long as the context is open.
    """
    start, since = baseline.find(context), baseline.began(context)
    if start is None or since is None:
        yield []
        return
    names = await _may_differ(context, start.work, work, exact, since)
    names.difference_update(start.local)  # the user's versions, in no commit
    submodules = await dirty_submodules(context)
    scratch = _scratch(context)
    try:
        found = await _compare(context.git, context.folder, work, names, scratch / "work") if names else []
        for number, submodule in enumerate(submodules):
            found += await _in_submodule(context, submodule, since, scratch / str(number))
        yield found
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _may_differ(context: RunContext, start: str, work: str, exact: str, since: float) -> set[str]:
    """Return files of the work that may differ from their checkout."""
    names: set[str] = set()
    if files_index.converts(context.git):
        changed = await changes(context.git, start, work)
        names.update(changed)
        if any(os.path.basename(name) == _ATTRIBUTES for name in changed):
            names.update(await context.git.names("ls-tree", "-r", "-z", "--full-tree", "--name-only", work))
        names.update(_written(context.folder, await changes(context.git, exact, work), since))
    if (await context.git.settings()).get("core.filemode", "true").lower() in ("false", "0", "no", "off"):
        names.update(_written(context.folder, await _with_other_mode(context, work), since))
    return names


async def _with_other_mode(context: RunContext, tree: str) -> list[str]:
    """Return the files whose executable bit is not that of the tree."""
    names = []
    for line in await context.git.names("ls-tree", "-r", "-z", "--full-tree", tree):
        facts, _, name = line.partition("\t")
        status = _status(context.folder / name)
        if facts.startswith("100") and status is not None:
            names += [name] if facts.startswith("100755") != bool(status.st_mode & _EXECUTABLE) else []
    return names


def _written(folder: Path, names: Iterable[str], since: float) -> list[str]:
    """Return those of the files that were written since that time."""
    found = ((name, _status(folder / name)) for name in names)
    return [name for name, status in found if status is not None and status.st_ctime >= since]


async def _compare(git: Git, folder: Path, tree: str, names: Collection[str], scratch: Path) -> list[UnlikeCheckout]:
    """Check these files out into another folder, and return those that differ."""
    await _check_out(git, tree, names, scratch)
    found = []
    for name in sorted(names):
        why = _difference(folder / name, scratch / name)
        if why:
            found.append(UnlikeCheckout(name, why, scratch / name))
    return found


async def _check_out(git: Git, tree: str, names: Collection[str], scratch: Path) -> None:
    """Write these files of a tree as a checkout does; those that the tree does not have are left out."""
    shutil.rmtree(scratch, ignore_errors=True)  # of a driver that was killed
    scratch.mkdir(parents=True)
    index = private_indexes.private_index_path(await git.index_path())
    variables = {"GIT_INDEX_FILE": str(index)}
    stdin = b"".join(os.fsencode(name) + b"\0" for name in names)
    try:
        await git.run("read-tree", tree, variables=variables)
        words = ("checkout-index", "--quiet", "--force", "-z", "--stdin", f"--prefix={scratch}/")
        await git.run(*words, stdin=stdin, variables=variables, accepts=(0, 1, 128))
    finally:
        private_indexes.remove_index(index)


def _difference(mine: Path, other: Path) -> str:
    """Return how a file differs from its checkout; an empty text where it does not, or where one is missing."""
    is_mine, is_other = _status(mine), _status(other)
    if is_mine is None or is_other is None or stat.S_ISDIR(is_mine.st_mode) or stat.S_ISDIR(is_other.st_mode):
        return ""
    if stat.S_IFMT(is_mine.st_mode) != stat.S_IFMT(is_other.st_mode):
        return CONVERTED
    if stat.S_ISLNK(is_mine.st_mode):
        return CONVERTED if os.readlink(mine) != os.readlink(other) else ""
    if not filecmp.cmp(mine, other, shallow=False):
        return CONVERTED
    return MODE if bool(is_mine.st_mode & _EXECUTABLE) != bool(is_other.st_mode & _EXECUTABLE) else ""


async def _in_submodule(context: RunContext, submodule: str, since: float, scratch: Path) -> list[UnlikeCheckout]:
    """Return the files of a submodule that were written during the run, and that its commit does not contain."""
    folder = context.folder / submodule
    git = nested_git(context.git, submodule)
    if git is None:
        return []
    try:
        lines = await git.names("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all")
        names = [line[3:] for line in lines if not os.path.isdir(folder / line[3:])]  # else a repository in it
        gone = [name for name in names if _status(folder / name) is None]
        await _check_out(git, "HEAD", names, scratch)
    except GitError as error:
        context.say(f"{submodule}: git cannot read this submodule: {error.message}")
        return []
    chosen = [*_written(folder, names, since), *(name for name in gone if _is_written(folder / name, since))]
    places = {name: scratch / name for name in chosen if _status(scratch / name) is not None}
    return [UnlikeCheckout(f"{submodule}/{name}", SUBMODULE, places.get(name)) for name in sorted(chosen)]


def _is_written(gone: Path, since: float) -> bool:
    """Return whether the folder of a file that is gone was changed since that time."""
    status = _status(gone.parent)
    return status is None or status.st_ctime >= since


def _status(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _scratch(context: RunContext) -> Path:
    worker = "" if context.worker is None else f"-{context.worker}"
    return context.run_folder / f"bridle-checkout{worker}"
