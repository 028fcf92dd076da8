"""Commits of a run that git has lost, as after a power cut: its branch goes back to the last one that is complete.

Only the run's own branch is moved. The files are saved in a snapshot first. The tasks of lost commits are done again.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec import Struct

from bridle.errors import GitError, UsageError
from bridle.ground import disk
from bridle.journal.stores.store import Store
from bridle.loop.process.receipt import Receipt
from bridle.loop.working_copy import left_state
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.git import Git
from bridle.workspace.merge import overlay
from bridle.workspace.repair import lost_objects
from bridle.workspace.restore import restore_files, stage
from bridle.workspace.snapshot import Snapshot


class Loss(Struct, frozen=True):
    """The commit of the run's branch, which git cannot read, and where the run can continue."""

    commit: str
    target: str
    """The newest commit of the run that is complete."""
    lines: tuple[str, ...]
    """What was found, for the user."""


async def find(context: RunContext, receipt: Receipt, tips: Sequence[str]) -> Loss | None:
    """Return what is lost of the run's branch; None where nothing is. `tips`: where the user had left the branch.

    Raise UsageError where the branch cannot simply go back.
    """
    git, branch = context.git, run_branch(context.run)
    await _write_empty_ref(context, branch, receipt.tip)
    await _check_other_head(git, context, branch)
    tip = await git.object(f"refs/heads/{branch}")
    missing = await lost_objects.find_missing(git, context.base, tip) if tip is not None else []
    if tip is None or not missing:
        return None
    lines = []
    if removed := await lost_objects.remove_empty(git):
        files = "an empty file" if removed == 1 else f"{removed} empty files"
        lines.append(f"removed {files} from .git/objects: git has lost these objects, as after a power cut")
    if await lost_objects.has_trees(git, tip):
        for line in lines:
            context.say(line)
        raise await _lost_below(context, missing, tip)
    target = await _newest_complete(context, receipt, tips)
    lines.append(f"git has lost the commit {tip[:12]} of {branch}, which is at {target[:12]} again")
    return Loss(tip, target, tuple(lines))


async def refuse(context: RunContext) -> None:
    """Raise UsageError where git has lost a commit of a run whose worktree is missing."""
    git, branch = context.git, run_branch(context.run)
    tip = await git.object(f"refs/heads/{branch}")
    missing = await lost_objects.find_missing(git, context.base, tip) if tip is not None else []
    if missing and tip is not None:
        raise await _lost_below(context, missing, tip)


async def move_branch(context: RunContext, loss: Loss) -> None:
    """Move the run's branch to the newest complete commit; files and index stay."""
    why = f"bridle: git has lost {loss.commit}"
    await context.git.run("update-ref", "--no-deref", "-m", why, f"refs/heads/{run_branch(context.run)}", loss.target)


async def save_files(context: RunContext, target: str, number: int) -> Snapshot:
    """Save the files of the working copy in a snapshot that is complete, as is the commit `target`."""
    name = f"{context.run.lower()}-lost-{number}" + ("" if context.worker is None else f"-{context.worker}")
    try:
        saved = await snapshot.take(context.git, name=name, why="before lost commits")
        if not await lost_objects.find_missing(context.git, target, saved.commit):
            return saved
    except GitError:
        pass
    # The index names lost objects, too: with that of the complete commit, git reads all other files again.
    index = await context.git.index_path()
    before = index.read_bytes()
    git = Git(context.folder, context.git.environment)
    await stage(git, await git.tree_of(target))
    saved = await snapshot.take(git, name=name, why="before lost commits")
    index.write_bytes(before)
    return saved


async def put_back(context: RunContext, store: Store, loss: Loss, saved: Snapshot, users: Sequence[str]) -> None:
    """Make files and index those of the complete commit; untracked files, and those that the user changed, stay."""
    git = context.git
    await git.run("reset", "--quiet", "--hard", loss.target)
    tree = await left_state.record_without_commit(context, store)
    if users:
        await restore_files(git, await overlay(git, tree, saved.tree, users))


async def _write_empty_ref(context: RunContext, branch: str, known: str) -> None:
    """Write the run's branch again where its file is empty: as its reflog ends, or to the commit that the run knows."""
    shared = await context.git.common_folder()
    path, log = shared / "refs/heads" / branch, shared / "logs/refs/heads" / branch
    if not path.is_file() or path.stat().st_size > 0:
        return
    last = log.read_text("utf-8", "replace").splitlines()[-1:] if log.is_file() else []
    words = last[0].split(" ", 2)[1:2] if last else []
    commit = words[0] if words and await lost_objects.is_readable(context.git, words[0]) else known
    disk.write_atomic(path, f"{commit}\n".encode("ascii"))
    context.say(f"the file of the branch {branch} was empty, as after a power cut; it is at {commit[:12]} again")


async def _check_other_head(git: Git, context: RunContext, branch: str) -> None:
    """Raise UsageError where the user has checked out another commit, which git cannot read."""
    there, head = await git.branch(), await git.head()
    if there == branch or head is None or await lost_objects.is_readable(git, head):
        return
    raise UsageError(
        f"git has lost the commit {head} of {there or 'HEAD'}, which is checked out in {context.folder}",
        remedy="Restore it from a backup, or point HEAD to the run's branch: "
        f"git symbolic-ref HEAD refs/heads/{branch} && bridle resume {context.run}",
    )


async def _lost_below(context: RunContext, missing: Sequence[str], tip: str) -> UsageError:
    """Return the error for objects that are lost where the branch cannot go back by itself."""
    lost, branch = missing[0], run_branch(context.run)
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    listed = await context.git.run("ls-tree", "-r", "-z", "--full-tree", tip, accepts=(0, 128))
    paths = [line.partition("\t")[2] for line in listed[1].split("\0") if f" {lost}\t" in line]
    where = f", the content of {paths[0]}" if paths else ""
    again = (
        f"If {paths[0]} is unchanged: `git hash-object -w {shlex.quote(paths[0])}`. Otherwise restore"
        if paths
        else "Restore"
    )
    return UsageError(
        f"git has lost the object {lost}{where}{more}, which {branch} needs",
        remedy=f"{again} .git/objects/{lost[:2]}/{lost[2:]} from a backup or another clone, and then run "
        f"`bridle resume {context.run}`. Without a backup, start a new run from a commit that is complete: bridle run",
    )


async def _newest_complete(context: RunContext, receipt: Receipt, tips: Sequence[str]) -> str:
    git, base = context.git, context.base
    tasks = [task.commit for task in receipt.tasks if task.commit is not None]
    complete = [
        commit
        for commit in dict.fromkeys((receipt.tip, *tips, *tasks))
        if commit and not await lost_objects.find_missing(git, base, commit)
    ]
    counted = [(int(await git.text("rev-list", "--count", f"{base}..{commit}")), commit) for commit in complete]
    if counted:
        return max(counted)[1]
    if not await lost_objects.has_trees(git, base):
        raise await _lost_below(context, [base], base)
    return base
