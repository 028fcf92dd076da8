"""The tree that checks run on: the same before and after them, so that a commit can be compared with it.

Checks may not change files: what they write to files that are not ignored is reported and reverted. The changes of an
interrupted check are reverted before the next one runs.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, field

from bridle.errors import GitError
from bridle.ground import disk, ids
from bridle.ground.git_folder import git_folder
from bridle.ground.lock import FileLock
from bridle.loop.checks.without_files import put_back
from bridle.loop.effect_results import FileReport
from bridle.loop.protection import baseline
from bridle.loop.protection.grown_files import find_grown
from bridle.loop.protection.tree_changes import changes_since
from bridle.loop.working_copy import stale_git_locks
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import files_index, marks, snapshot
from bridle.workspace.files_index import look
from bridle.workspace.marks import Marks
from bridle.workspace.merge import overlay
from bridle.workspace.repair import git_leftovers
from bridle.workspace.repair.git_leftovers import Leftovers
from bridle.workspace.restore import restore_files, stage

# Commits with reverted changes of checks, under the run's id.
TAKEN_BACK = "refs/bridle/taken-back/"

# The keeper of a killed Bridle ends its checks; on a loaded machine this takes some seconds.
LOCK_SECONDS = 30.0
# HEAD is one line.
_HEAD_LIMIT_BYTES = 64 * 1024


class CheckedTree(Struct):
    """A working copy while checks run in it."""

    files: str
    """The tree of all files that are not ignored."""
    work: str
    """The tree without the user's untracked and local files: that of a commit of the work."""
    exact: str
    """The tree of all files that are not ignored, byte for byte."""
    changed: list[str] = field(default_factory=list)
    """Files that the checks changed and that were reverted; set when they have ended."""
    kept: str = ""
    """The ref that keeps the reverted files as they were; set when the checks have ended."""
    reports: list[FileReport] = field(default_factory=list)
    """What the checks changed that is in no tree, and that was restored or is to be looked at; set when they ended."""
    ignored: list[str] | None = None
    """Ignored files and folders after the checks; None where they were not listed."""


class StagedWork(Struct, frozen=True):
    """The work, staged in the index."""

    tree: str
    is_refreshed: bool
    """Whether the index has the current stat data of all files."""


async def work_tree(context: RunContext, *, is_known: bool = False) -> str:
    """Return the tree of the work: all files that are not ignored, without what only the user has.

    `is_known`: the files are as at the last look.
    """
    files = await snapshot.tree_of_all(context.git, as_committed=True, is_known=is_known)
    return await baseline.work_in(context, files)


async def stage_work(context: RunContext, *, is_known: bool = False, base: str | None = None) -> StagedWork:
    """Stage exactly the work for a commit on top of `base`."""
    tree = await work_tree(context, is_known=is_known)
    if tree == await snapshot.staged_tree(context.git):
        return StagedWork(tree, is_refreshed=False)
    async with look(context.git, as_committed=True, is_known=True) as index:
        if index.tree == tree and index.replace_real_index():
            return StagedWork(tree, is_refreshed=True)
    await stage(context.git, tree, base=base)
    return StagedWork(tree, is_refreshed=False)


def _untracked(context: RunContext) -> tuple[str, ...]:
    start = baseline.find(context)
    return start.untracked if start is not None else ()


@asynccontextmanager
async def fixed_tree(context: RunContext, *, is_known: bool = False) -> AsyncIterator[CheckedTree]:
    """Fix the tree of a working copy while checks run in it. `is_known`: the files are as at the last look.

    What git obeys must be restored before the end, which starts git: see `after_check`.
    """
    stem = _stem(context)
    lock = await asyncio.to_thread(
        FileLock.hold, stem.with_suffix(".lock"), holder=f"checks of {context.run}", wait_seconds=LOCK_SECONDS
    )
    try:
        lock.hold_until_agents_end()
        put_back(context)
        if await _revert_interrupted(context, stem):
            is_known = False
        files = await snapshot.tree_of_all(context.git, as_committed=True, is_known=is_known)
        exact = await snapshot.tree_of_all(context.git, is_known=True)
        checked = CheckedTree(files, await baseline.work_in(context, files), exact)
        marked = await marks.read(context.git)
        head, state = _read_head(context), git_leftovers.read_state(context.folder)
        note = {"files": files, "exact": exact, "head": head, "marks": await marks.write(context.git, marked)}
        disk.write_json_atomic(stem.with_suffix(".json"), note)
        yield checked
        await stale_git_locks.clear(context.folder)
        left = await git_leftovers.undo(context.git, state)
        found = await files_index.changed_since_look(context.git)
        checked.ignored = found.ignored if found is not None else None
        # Git takes a file as unchanged whose conversion for a commit is the same.
        is_unchanged = found is not None and not found.changed and not files_index.converts(context.git)
        checked.changed, checked.kept = ([], "") if is_unchanged else await _revert_changes(context, exact, marked)
        await marks.set_again(context.git, marked)
        checked.changed += _describe_leftovers(left)
        await _restore_head(context, head, checked.changed)
        stem.with_suffix(".json").unlink(missing_ok=True)
    finally:
        lock.release()


def _describe_leftovers(left: Leftovers) -> list[str]:
    """Return what checks left in git, as names of changed files."""
    operations = [f".git ({name})" for name in left.operations]
    return [*operations, *(f".git/{name}" for name in (("index",) if left.marked or left.conflicts else left.replaced))]


def _stem(context: RunContext) -> Path:
    """Return the path prefix of the lock, note and index for checks in this working copy."""
    folder = disk.make_private_folder(context.run_folder)
    key = hashlib.sha256(context.recorded_folder.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return folder / f"bridle-checks-{key}"


async def carry_changes(context: RunContext, paths: Collection[str], *, head: str | None = None) -> None:
    """Keep the current version of these files, which the user changed, when an interrupted check is reverted.

    `head`: the commit that is checked out now, where it is another one.
    """
    path = _stem(context).with_suffix(".json")
    note = disk.read_json(path)
    if not isinstance(note, dict) or await context.git.object(f"{note['files']}^{{tree}}") is None:
        return
    trees = {}
    for name in ("files", "exact"):
        now = await snapshot.tree_of_all(context.git, as_committed=name == "files")
        trees[name] = await overlay(context.git, str(note.get(name) or note["files"]), now, paths)
    disk.write_json_atomic(path, {**note, **trees, **({"head": head} if head is not None else {})})


def forget_interrupted(context: RunContext) -> None:
    """Forget an interrupted check in a working copy that is made again."""
    _stem(context).with_suffix(".json").unlink(missing_ok=True)


async def keep_reverted(context: RunContext, tree: str) -> str:
    """Return a ref that keeps a tree with reverted changes: the user may have written there during the check."""
    ref = f"{TAKEN_BACK}{ids.check_id(context.run, what='run')}/{tree}"
    commit = await snapshot.commit_tree(context.git, tree, [], "reverted after a check")
    await snapshot.write_ref(context.git, ref, commit)
    return ref


async def _revert_changes(context: RunContext, exact: str, marked: Marks) -> tuple[list[str], str]:
    """Revert changes since the files were these, byte for byte; return the names, and the ref that keeps them."""
    git = context.git
    after = await snapshot.tree_of_all(git)
    if after == exact:
        return [], ""
    grown = await _find_grown(context, exact, after)
    changed = [name for name in await snapshot.changes(git, exact, after) if name not in grown]
    if not changed:
        return [], ""
    ref = await keep_reverted(context, after)
    await restore_files(git, exact, leave=grown, marked=marked)
    return changed, ref


async def _find_grown(context: RunContext, before: str, after: str) -> frozenset[str]:
    """Return the user's untracked files that a program of the user appends to."""
    own = frozenset(_untracked(context))
    changes = await changes_since(context, before, after, leave=()) if own else []
    return await find_grown(context, [change for change in changes if change.path in own])


async def _revert_interrupted(context: RunContext, stem: Path) -> bool:
    """Restore the tree from before an interrupted check, and return whether there was one.

    A snapshot keeps what it left.
    """
    note = disk.read_json(stem.with_suffix(".json"))
    if not isinstance(note, dict):
        return False
    files, note_file = str(note["files"]), stem.with_suffix(".json")
    exact = str(note.get("exact") or files)
    if await context.git.object(f"{exact}^{{tree}}") is None:
        raise GitError(
            f"a check was interrupted in {context.folder}, and the tree {exact} from before it is missing",
            remedy=f"Revert what the check changed, remove {note_file}, then run: bridle resume {context.run}",
        )
    await git_leftovers.end_operations(context.git)
    marked = await marks.load(context.git, str(note.get("marks") or ""))
    after = await snapshot.tree_of_all(context.git)
    if after != exact:
        name = f"{context.run.lower()}-check-{files}"  # `bridle clean` removes what has the run's id
        left = await snapshot.take(context.git, name=name, why="changes of an interrupted check", is_known=True)
        context.say(f"a check was interrupted; its changes were reverted and are kept as {left.ref}")
        grown = await _find_grown(context, exact, after)
        await restore_files(context.git, exact, leave=grown, marked=marked)
    await marks.set_again(context.git, marked or Marks())
    await _restore_head(context, note.get("head"), [])
    note_file.unlink()
    return True


async def _restore_head(context: RunContext, head: str | None, changed: list[str]) -> None:
    """Restore HEAD if a check checked out another branch, which would receive the next commit."""
    if head is None or _read_head(context) == head:
        return
    if head.startswith("ref: "):
        await context.git.run("symbolic-ref", "-m", "bridle: a check had moved it", "HEAD", head.removeprefix("ref: "))
    else:
        await context.git.run("update-ref", "--no-deref", "-m", "bridle: a check had moved it", "HEAD", head)
    changed.append(".git/HEAD")


def _read_head(context: RunContext) -> str | None:
    """Return the content of HEAD, or None if it cannot be read."""
    own = git_folder(context.folder)
    if own is None or not (head := Path(own, "HEAD")).is_file():
        return None
    return disk.read_bounded(head, _HEAD_LIMIT_BYTES).decode("utf-8", "replace").strip()
