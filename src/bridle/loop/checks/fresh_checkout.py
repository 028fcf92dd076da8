"""Checkouts of the work in which the setup has run, for checks. They are reused.

There is one for each state of the lock files, in the repository's git folder. It is reused only if all files that the
setup made are unchanged; files that checks left are removed first.
"""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from bridle.errors import LockHeld, MachineError
from bridle.ground import clock, disk
from bridle.ground.files import files_below
from bridle.ground.lock import FileLock
from bridle.loop.checks.setup_commands import commands, listing, run_setup, setup_key
from bridle.loop.effect_results import CheckResult
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import copy_user_check, redirect_variables
from bridle.workspace import snapshot, worktree
from bridle.workspace.git import Git
from bridle.workspace.worktree import FOLDER, Worktree

PREFIX = "checks-"
# Checkouts with all installed dependencies are large, so only the last few are kept.
KEPT_CHECKOUTS = 3
# More concurrent checks than any machine can use.
SLOTS = 64


class CheckoutNote(msgspec.Struct, frozen=True):
    """What the setup made in a checkout."""

    made: dict[str, list[int]]
    """Each file with its stamp: size, mtime, ctime, mode and inode."""
    at: str = ""


class Checkout(Struct, frozen=True):
    """A checkout that is ready, or whose setup failed."""

    context: RunContext
    """The context in the checkout."""
    failed: CheckResult | None = None
    """The setup command that failed."""


@asynccontextmanager
async def checkout(context: RunContext, tree: str, *, task: str) -> AsyncIterator[Checkout]:
    """Hold a checkout of a tree, after the setup."""
    root = disk.make_private_folder(await context.git.common_folder() / FOLDER)
    key = setup_key(commands(context), await listing(context.git, tree))
    name, lock = _take_slot(root, key)
    try:
        lock.hold_until_agents_end()
        copy = Worktree(name, root / name, None)
        inside = context.in_working_copy(copy.folder).with_variables(
            redirect_variables(context.environment, context.folder, copy.folder)
        )
        failed = None
        if not await _reuse(context, copy, tree):
            failed = await _create(context, inside, copy, tree, task)
        copy_user_check(context.workspace, copy.folder)
        yield Checkout(inside, failed)
        # Remove all checkouts but the last used ones.
        notes = sorted(root.glob(f"{PREFIX}*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        for path in [note for note in notes if note.stem != name][KEPT_CHECKOUTS - 1 :]:
            await _remove_if_unused(context.git, root, path.stem)
    finally:
        lock.release()


async def changed_in(place: Checkout, tree: str) -> list[str]:
    """Return the files that checks changed in the checkout; they are reverted before its next use."""
    git = place.context.git
    names = await git.names("diff", "--name-only", "--no-renames", "-z", tree)
    others = await git.names("ls-files", "-z", "--others", "--exclude-standard")
    note = _read_note(Worktree(place.context.folder.name, place.context.folder, None))
    known = note.made if note is not None else {}
    return sorted({*names, *(name for name in others if name not in known and not name.endswith("/"))})


def _take_slot(root: Path, key: str) -> tuple[str, FileLock]:
    """Lock the first checkout of that key that is not in use, or a new one."""
    for number in range(1, SLOTS + 1):
        name = f"{PREFIX}{key}-{number}"
        try:
            return name, FileLock.hold(root / f"{name}.lock", holder="checks in a checkout")
        except LockHeld:
            continue
    raise MachineError(f"all {SLOTS} checkouts in {root} are in use", remedy="Wait until some checks have ended.")


async def _reuse(context: RunContext, copy: Worktree, tree: str) -> bool:
    """Bring an existing checkout to that tree; return False if it cannot be reused."""
    note = _read_note(copy)
    if note is None or not (copy.folder / ".git").exists():
        return False
    git = Git(copy.folder, context.environment)
    await _check_out(git, context, tree)
    tracked = await listing(git, tree)
    for name in list(_walk(copy.folder)):
        if name not in tracked and name not in note.made:
            _remove(copy.folder, name)
    current = _read_stamps(copy.folder)
    if any(current.get(name) != stamp for name, stamp in note.made.items() if name not in tracked):
        context.say("files of the setup were changed; the setup runs again")
        return False
    os.utime(_note_path(copy))
    return True


async def _create(context: RunContext, inside: RunContext, copy: Worktree, tree: str, task: str) -> CheckResult | None:
    """Create a checkout and run the setup in it; return its result if it failed."""
    _note_path(copy).unlink(missing_ok=True)
    await worktree.remove(context.git, copy)
    commit = await snapshot.commit_tree(context.git, tree, [], "a checkout for checks")
    await worktree.add(context.git, copy.name, at=commit)
    failed = await run_setup(inside, task=task)
    if failed is not None:
        return failed
    await _check_out(Git(copy.folder, context.environment), context, tree)  # undoes its writes to tracked files
    tracked = await listing(context.git, tree)
    made = {name: stamp for name, stamp in _read_stamps(copy.folder).items() if name not in tracked}
    note = CheckoutNote(made, clock.iso(clock.now()))
    disk.write_json_atomic(_note_path(copy), msgspec.to_builtins(note))
    return None


async def _check_out(git: Git, context: RunContext, tree: str) -> None:
    """Check out a tree; files in its way are removed."""
    commit = await snapshot.commit_tree(context.git, tree, [], "a checkout for checks")
    (await git.git_path("index")).unlink(missing_ok=True)  # drops flags such as assume-unchanged
    await git.run("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--force", "--detach", commit)


def _note_path(copy: Worktree) -> Path:
    return copy.folder.with_name(f"{copy.name}.json")


def _read_note(copy: Worktree) -> CheckoutNote | None:
    """Return the note about a checkout, or None if its setup did not succeed."""
    value = disk.read_json(_note_path(copy))
    try:
        return None if value is None else msgspec.convert(value, CheckoutNote)
    except msgspec.ValidationError:
        return None


def _walk(folder: Path) -> Iterable[str]:
    """Yield every file and link below a folder, without git's own."""
    for root, folders, files in os.walk(folder):
        here = Path(root)
        folders[:] = [name for name in folders if name != ".git" or here != folder]
        links = [name for name in folders if (here / name).is_symlink()]
        for name in (*files, *links):
            if name != ".git" or here != folder:
                yield (here / name).relative_to(folder).as_posix()


def _read_stamps(folder: Path) -> dict[str, list[int]]:
    """Return every file below a folder with its stamp, which any write changes."""
    stamps = {}
    for name in _walk(folder):
        status = os.lstat(folder / name)
        times = [status.st_mtime_ns, status.st_ctime_ns]  # no program can choose its ctime
        stamps[name] = [status.st_size, *times, stat.S_IMODE(status.st_mode), status.st_ino]
    return stamps


async def _remove_if_unused(git: Git, root: Path, name: str) -> bool:
    try:
        lock = FileLock.hold(root / f"{name}.lock", holder="removing a checkout")
    except LockHeld:
        return False
    with lock:
        copy = Worktree(name, root / name, None)
        _note_path(copy).unlink(missing_ok=True)
        await worktree.remove(git, copy)
    return True


def _remove(folder: Path, name: str) -> None:
    """Remove a file or link, and the folders that become empty; nothing that a link on the way leads to."""
    files_below.remove(folder, name)
    for above in (folder / name).parents:
        if above == folder:
            return
        try:
            above.rmdir()
        except OSError:
            return  # not empty
