"""Checks in a fresh checkout of the work, after the plan's setup. What the setup made is kept for the next time.

One checkout for each state of the lock files, in the repository's own git folder. It is used again only if everything
that the setup made is still as the setup left it; what checks have left there since is removed first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.errors import LockHeld, MachineError
from bridle.ground import clock, disk
from bridle.ground.lock import FileLock
from bridle.loop.checks.run_check import Result
from bridle.loop.checks.setup_commands import commands, listing, run_setup, setup_key
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import bring_own_check, moved
from bridle.workspace import snapshot, worktree
from bridle.workspace.git import Git
from bridle.workspace.worktree import FOLDER, Worktree

PREFIX = "checks-"
# Checkouts with all that a setup installs are large: those of the last few states of the lock files are enough.
KEPT_CHECKOUTS = 3
# More checks at once, each with a checkout of its own, than any machine has use for.
SLOTS = 64


@dataclass(frozen=True)
class Checkout:
    """A checkout that is ready, or the setup that failed in it."""

    context: RunContext
    """In the checkout."""
    failed: Result | None = None


@asynccontextmanager
async def checkout(context: RunContext, tree: str, *, task: str) -> AsyncIterator[Checkout]:
    """A checkout of that tree, after the setup; nobody else uses it meanwhile."""
    root = disk.make_private_folder(await context.git.common_folder() / FOLDER)
    key = setup_key(commands(context), await listing(context.git, tree))
    name, lock = _take_slot(root, key)
    try:
        lock.outlive_us()
        copy = Worktree(name, root / name, None)
        made = context.in_working_copy(copy.folder).with_variables(
            moved(context.environment, context.folder, copy.folder)
        )
        failed = None
        if not await _reuse(context, copy, tree):
            failed = await _make(context, made, copy, tree, task)
        bring_own_check(context.workspace, copy.folder)
        yield Checkout(made, failed)
        await _forget_old(context, root, name)
    finally:
        lock.release()


async def changed_in(place: Checkout, tree: str) -> list[str]:
    """What checks changed in the checkout; the next one begins without it."""
    git = place.context.git
    names = await git.names("diff", "--name-only", "--no-renames", "-z", tree)
    others = await git.names("ls-files", "-z", "--others", "--exclude-standard")
    note = disk.read_json(_note(Worktree(place.context.folder.name, place.context.folder, None)))
    known = note["made"] if isinstance(note, dict) else {}
    return sorted({*names, *(name for name in others if name not in known and not name.endswith("/"))})


async def forget_all(git: Git) -> list[str]:
    """Remove every checkout that nobody uses; gives their names."""
    root = await git.common_folder() / FOLDER
    gone = []
    for copy in await worktree.ours(git):
        if copy.name.startswith(PREFIX) and await _remove_unused(git, root, copy.name):
            gone.append(copy.name)
    return gone


def _take_slot(root: Path, key: str) -> tuple[str, FileLock]:
    """The first checkout of that key that nobody uses, or a new one."""
    for number in range(1, SLOTS + 1):
        name = f"{PREFIX}{key}-{number}"
        try:
            return name, FileLock.hold(root / f"{name}.lock", holder="checks in a checkout")
        except LockHeld:
            continue
    raise MachineError(
        f"{SLOTS} checks run in checkouts of {root} at once", remedy="Wait until some of them have ended."
    )


async def _reuse(context: RunContext, copy: Worktree, tree: str) -> bool:
    """Bring a checkout to that tree as if it were fresh; False where it cannot be trusted."""
    note = disk.read_json(_note(copy))
    if not isinstance(note, dict) or not (copy.folder / ".git").exists():
        return False
    git = Git(copy.folder, context.environment)
    await _point_at(git, context, tree)
    tracked = await listing(git, tree)
    known: Mapping[str, Any] = note["made"]
    for name in list(_walk(copy.folder)):
        if name not in tracked and name not in known:
            _remove(copy.folder, name)
    seen = _manifest_of(copy.folder)
    if any(seen.get(name) != facts for name, facts in known.items() if name not in tracked):
        context.say("what the setup made has been changed since; it is run again")
        return False
    os.utime(_note(copy))
    return True


async def _make(context: RunContext, made: RunContext, copy: Worktree, tree: str, task: str) -> Result | None:
    """A fresh checkout and the setup in it; the setup's result where it failed."""
    _note(copy).unlink(missing_ok=True)
    await worktree.remove(context.git, copy)
    commit = await snapshot.commit_tree(context.git, tree, [], "a checkout for checks")
    await worktree.add(context.git, copy.name, at=commit)
    failed = await run_setup(made, task=task)
    if failed is not None:
        return failed
    await _point_at(Git(copy.folder, context.environment), context, tree)  # a setup that writes to tracked files
    tracked = await listing(context.git, tree)
    kept = {name: facts for name, facts in _manifest_of(copy.folder).items() if name not in tracked}
    disk.write_json_atomic(_note(copy), {"made": kept, "at": clock.iso(clock.now())})
    return None


async def _point_at(git: Git, context: RunContext, tree: str) -> None:
    """Make every tracked file that of a tree; what stands in its way goes."""
    commit = await snapshot.commit_tree(context.git, tree, [], "a checkout for checks")
    (await git.git_path("index")).unlink(missing_ok=True)  # whatever it was told to overlook, it has forgotten
    await git.run("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--force", "--detach", commit)


def _note(copy: Worktree) -> Path:
    return copy.folder.with_name(f"{copy.name}.json")


def _walk(folder: Path) -> Iterable[str]:
    """Every file and link below a folder, git's own left out."""
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = [name for name in folders if name != ".git" or here != folder]
        links = [name for name in folders if (here / name).is_symlink()]
        for name in (*files, *links):
            if name != ".git" or here != folder:
                yield (here / name).relative_to(folder).as_posix()


def _manifest_of(folder: Path) -> dict[str, list[int]]:
    """Every file below a folder, with what changes when somebody writes to it."""
    found = {}
    for name in _walk(folder):
        facts = os.lstat(folder / name)
        found[name] = [facts.st_size, facts.st_mtime_ns, stat.S_IMODE(facts.st_mode), facts.st_ino]
    return found


async def _forget_old(context: RunContext, root: Path, name: str) -> None:
    """Keep the few that were used last."""
    notes = sorted(root.glob(f"{PREFIX}*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    for note in [one for one in notes if one.stem != name][KEPT_CHECKOUTS - 1 :]:
        await _remove_unused(context.git, root, note.stem)


async def _remove_unused(git: Git, root: Path, name: str) -> bool:
    try:
        lock = FileLock.hold(root / f"{name}.lock", holder="removing a checkout")
    except LockHeld:
        return False
    with lock:
        copy = Worktree(name, root / name, None)
        _note(copy).unlink(missing_ok=True)
        await worktree.remove(git, copy)
    return True


def _remove(folder: Path, name: str) -> None:
    """Remove a file or a link, and the folders that are empty without it."""
    place = folder / name
    place.unlink(missing_ok=True)
    for above in place.parents:
        if above == folder:
            return
        try:
            above.rmdir()
        except OSError:
            return  # something else is in it
