"""The tree that checks run on: known before they run and the same afterwards, so that a commit can be compared with it.

Checks judge, and change nothing: what they write to files that are not ignored is seen, told, and taken back. A check
that was cut off by a crash may have left anything; what was there before it is put back before the next one runs.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bridle.errors import GitError
from bridle.ground import disk, ids
from bridle.ground.git_folder import git_folder
from bridle.ground.lock import FileLock
from bridle.loop.protection import baseline
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.snapshot import HONEST, add_all, index_of_all

# Trees that checks left behind, under the run's id.
TAKEN_BACK = "refs/bridle/taken-back/"

# The checks of a Bridle that was killed are ended by its keeper; on a loaded machine that takes some seconds.
LOCK_SECONDS = 30.0
# A git folder may be a file that names another place, in one line.
_LINK_LIMIT_BYTES = 64 * 1024


@dataclass
class CheckedTree:
    """A working copy while checks run in it."""

    files: str
    """The tree of everything that is not ignored."""
    work: str
    """The same without the person's own untracked files: the tree that a commit of the work has."""
    changed: list[str] = field(default_factory=list)
    """What the checks changed, and what was therefore taken back; known when they are over."""


async def work_tree(context: RunContext) -> str:
    """The tree that a commit of the work has: everything that is not ignored, but the person's own untracked files."""
    start = baseline.find(context)
    return await baseline.tree_without(context, start.untracked if start is not None else ())


async def stage_work(context: RunContext) -> str:
    """Put exactly the work into the index, for a commit; gives the tree that the commit will have."""
    tree = await work_tree(context)
    if tree != await snapshot.staged_tree(context.git):
        await context.git.run("read-tree", "--reset", tree)  # which keeps what git knows about unchanged files
    return tree


@asynccontextmanager
async def fixed_tree(context: RunContext) -> AsyncIterator[CheckedTree]:
    """Hold a working copy still while checks run in it."""
    stem = _stem(context)
    lock = await asyncio.to_thread(
        FileLock.hold, stem.with_suffix(".lock"), holder=f"checks of {context.run}", wait_seconds=LOCK_SECONDS
    )
    try:
        lock.outlive_us()
        await _finish(context, stem)
        start = baseline.find(context)
        untracked = start.untracked if start is not None else ()
        async with index_of_all(context.git, as_committed=True, at=stem.with_suffix(".index")) as variables:
            work = await baseline.write_tree(context, variables, untracked)
            files = work if not untracked else await context.git.text("write-tree", variables=variables)
            standing = CheckedTree(files, work)
            head = _read_head(context)
            disk.write_json_atomic(stem.with_suffix(".json"), {"files": files, "head": head})
            yield standing
            standing.changed = await _settle(context, files, variables)
        await _put_head_back(context, head, standing.changed)
        stem.with_suffix(".json").unlink(missing_ok=True)
    finally:
        lock.release()


async def _settle(context: RunContext, files: str, variables: dict[str, str]) -> list[str]:
    """Take back what was changed in the working copy since its index was made; gives the names."""
    words = (*HONEST, "ls-files", "-z", "--modified", "--deleted", "--others", "--exclude-standard")
    seen = await context.git.names(*words, variables=variables)
    if not [name for name in seen if not name.endswith("/")]:  # a repository within is no file of this one
        return []
    await add_all(context.git, variables)
    after = await context.git.text("write-tree", variables=variables)
    if after == files:
        return []
    changed = await snapshot.changes(context.git, files, after)
    # A person may have written there meanwhile: what is taken back can be had again.
    await context.git.run("update-ref", f"{TAKEN_BACK}{ids.check_id(context.run, what='run')}/{after}", after)
    await context.git.run("read-tree", "--reset", "-u", files, variables=variables)
    return changed


async def _finish(context: RunContext, stem: Path) -> None:
    """Put back what stood there before a check that was cut off; what it left is kept in a snapshot."""
    note = disk.read_json(stem.with_suffix(".json"))
    if not isinstance(note, dict):
        return
    files = str(note["files"])
    if await context.git.object(f"{files}^{{tree}}") is None:
        raise GitError(f"the tree {files} that checks ran on is gone", remedy="Restore the working copy by hand.")
    async with index_of_all(context.git, as_committed=True, at=stem.with_suffix(".index")) as variables:
        if await context.git.text("write-tree", variables=variables) != files:
            left = await snapshot.take(context.git, why="what a check left that was cut off")
            context.say(f"a check was cut off; the files are as before it, and what it left is kept as {left.ref}")
            await context.git.run("read-tree", "--reset", "-u", files, variables=variables)
    await _put_head_back(context, note.get("head"), [])
    stem.with_suffix(".json").unlink()


async def _put_head_back(context: RunContext, head: str | None, changed: list[str]) -> None:
    """A check that checked out another branch would have the next commit land there."""
    if head is None or _read_head(context) == head:
        return
    if head.startswith("ref: "):
        await context.git.run("symbolic-ref", "-m", "bridle: a check had moved it", "HEAD", head.removeprefix("ref: "))
    else:
        await context.git.run("update-ref", "--no-deref", "-m", "bridle: a check had moved it", "HEAD", head)
    changed.append(".git/HEAD")


def _read_head(context: RunContext) -> str | None:
    """What is checked out, by its name; None where that cannot be seen."""
    own = git_folder(context.folder)
    if own is None or not (head := Path(own, "HEAD")).is_file():
        return None
    return disk.read_bounded(head, _LINK_LIMIT_BYTES).decode("utf-8", "replace").strip()


def _stem(context: RunContext) -> Path:
    """The name of what is kept about checks in this working copy."""
    folder = disk.make_private_folder(context.run_folder)
    which = hashlib.sha256(str(context.folder).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return folder / f"bridle-checks-{which}"
