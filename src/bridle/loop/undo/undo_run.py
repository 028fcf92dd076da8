"""Undo a run: restore the user's branch and files, keep the work under a ref, remove branch and worktrees.

Each step can be repeated, so a second `bridle undo` finishes what a killed one began. HEAD leaves the run's branch only
when the files are restored, and the branch goes last.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.journal.stores.store import Store
from bridle.loop.adoption.later_files import is_later
from bridle.loop.plan.read_plan import LIMIT_BYTES
from bridle.loop.plan.tick_boxes import tick_text
from bridle.loop.protection import baseline, uncommitted_changes, untracked_files
from bridle.loop.undo import undo_entries
from bridle.loop.undo.undo_entries import UNDONE
from bridle.loop.undo.undo_plan import UndoPlan
from bridle.loop.working_copy import left_state, put_aside, start_state
from bridle.loop.working_copy.leave_branch import leave_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import marks, snapshot, worktree
from bridle.workspace.git import Git
from bridle.workspace.merge import overlay
from bridle.workspace.restore import restore
from bridle.workspace.snapshot import Snapshot


class Undone(Struct, frozen=True):
    """What undo has done."""

    kept: str = ""
    """The ref with the work, or an empty text."""
    snapshot: str = ""
    """The ref with the files as they were before undo; empty where none were changed."""
    restored: tuple[str, ...] = ()
    """Untracked files of the user that the run had changed or deleted."""
    left_alone: tuple[str, ...] = ()
    """Files that stay as they are: the user changed or made them since."""
    worktrees: tuple[str, ...] = ()
    """The worktrees that were removed."""


async def undo_run(context: RunContext, store: Store, plan: UndoPlan, *, ended_at: float | None) -> Undone:
    """Undo a run whose last driver ended at that time. The caller holds the locks of the run and its working copy."""
    state = undo_entries.read(store.state().notes)
    done = Undone(left_alone=state.left_alone)
    if plan.is_checked_out:
        await _finish_moves(context)
        now = await snapshot.take(context.git, name=f"{context.run.lower()}-undo-{state.attempts + 1}", why="undo")
        wanted = await _find_start(context, store, now)
        users = (
            await _find_users(context, store, wanted, now, ended_at) if not state.attempts else list(state.left_alone)
        )
        done = replace(done, snapshot=now.ref, left_alone=tuple(users))
    undo_entries.append(store, undo_entries.BEGUN, {"left_alone": list(done.left_alone)})
    kept = await _keep_work(context, plan)
    if plan.is_checked_out:
        restored = await _find_restored(context, wanted, now, done.left_alone)
        await restore(context.git, wanted, moves_head=False, leave=done.left_alone)
        await leave_branch(context)
        done = replace(done, restored=tuple(restored))
    if (aside := put_aside.find(context.run_folder)) is not None and not aside.is_restored:
        await uncommitted_changes.restore(context, has_ended=True)
    done = replace(done, kept=kept, worktrees=tuple(await _remove_worktrees(context.git, plan)))
    if plan.tip is not None and plan.other_worktree is None:
        await context.git.run("update-ref", "--no-deref", "-d", f"refs/heads/{plan.branch}", plan.tip)
    undo_entries.append(store, undo_entries.DONE, {"kept": kept})
    return done


async def _finish_moves(context: RunContext) -> None:
    """Put the user's uncommitted changes aside, so that what remains in tracked files is the run's work."""
    aside = put_aside.find(context.run_folder)
    if aside is not None and (aside.is_restored or aside.is_moving):
        await uncommitted_changes.put_aside_again(context)


async def _find_start(context: RunContext, store: Store, now: Snapshot) -> Snapshot:
    """Return the files from before the run; without a record those of its first commit, and untracked ones as now."""
    git = context.git
    start = await start_state.find(context)
    if start is not None:
        was = await _find_left(context, store)
        marked = start.marks if was is None else await marks.carry(git, start.marks, was.marks, now.marks)
        return replace(start, marks=marked)
    known = baseline.find(context)
    untracked = [] if known is None else list(known.untracked)
    tree = await git.tree_of(context.base)
    whole = await overlay(git, tree, now.tree, untracked)
    return Snapshot(now.name, now.commit, whole, tree, context.base, context.came_from, now.marks)


async def _find_users(
    context: RunContext, store: Store, wanted: Snapshot, now: Snapshot, ended_at: float | None
) -> list[str]:
    """Return the files that stay as they are: untracked ones, and the plan, that the user changed or made since."""
    own = {*await baseline.untracked_files(context)}
    own |= {*(known.untracked if (known := baseline.find(context)) is not None else ())}
    changed = {*await snapshot.changes(context.git, wanted.tree, now.tree)}
    found = {*await untracked_files.find_left_alone(context, wanted.tree, now.tree)}
    found |= await _changed_since_driver(context, store, own & changed - found, now, ended_at)
    plan = baseline.plan_path(context)
    if plan in changed and plan is not None:
        found = found - {plan} if await _is_ticked(context, wanted, plan) else found | {plan}
    return sorted(found)


async def _changed_since_driver(
    context: RunContext, store: Store, names: set[str], now: Snapshot, ended_at: float | None
) -> set[str]:
    """Return those of these files that were changed after the last driver had ended: by the user."""
    was = await _find_left(context, store)
    if was is not None:
        return names.intersection(await snapshot.changes(context.git, was.tree, now.tree))
    return set() if ended_at is None else {name for name in names if is_later(context.folder / name, ended_at)}


async def _find_left(context: RunContext, store: Store) -> Snapshot | None:
    """Return the files as the last driver left them; None where it was killed, or the run has ended."""
    left = left_state.find(context, store)
    return await snapshot.find(context.git, left.snapshot) if left and store.position().end is None else None


async def _is_ticked(context: RunContext, wanted: Snapshot, plan: str) -> bool:
    """Return whether the plan differs from the start only by ticks of Bridle."""
    code, text = await context.git.run("cat-file", "blob", f"{wanted.tree}:{plan}", accepts=(0, 128))
    if not context.settings.tick or code != 0:
        return False
    try:
        now = disk.read_bounded(context.folder / plan, LIMIT_BYTES).decode("utf-8")
    except (DiskError, UnicodeDecodeError):
        return False
    titles = [task.title for task in context.plan.tasks]
    return tick_text(Path(plan), text, titles)[0] == tick_text(Path(plan), now, titles)[0]


async def _find_restored(context: RunContext, wanted: Snapshot, now: Snapshot, leave: tuple[str, ...]) -> list[str]:
    """Return the user's untracked files that will be as before the run again."""
    known = baseline.find(context)
    own = {*(known.untracked if known is not None else ())} - {*leave}
    return sorted(own.intersection(await snapshot.changes(context.git, wanted.tree, now.tree)))


async def _keep_work(context: RunContext, plan: UndoPlan) -> str:
    """Point a ref at the run's newest commit, with unfinished work on top; return the ref, empty without work."""
    git, ref = context.git, f"{UNDONE}{context.run.lower()}"
    for found in plan.worktrees:
        await _keep_worktree(context, found, plan)
    if await git.object(ref) is not None:
        return ref  # a killed undo has kept it, before it changed a file
    commit = plan.tip
    if commit is None:
        return ""
    if plan.is_checked_out:
        tree = await baseline.work_in(context, await snapshot.tree_of_all(git, as_committed=True))
        if tree != await git.tree_of(commit):
            commit = await snapshot.commit_tree(git, tree, [commit], f"unfinished work of the run {context.run}")
    if commit == plan.base:
        return ""
    await git.run("update-ref", "--no-deref", ref, commit)
    return ref


async def _keep_worktree(context: RunContext, found: worktree.Worktree, plan: UndoPlan) -> None:
    """Keep the files of a worktree that differ from its commit, and commits that are only there, under a ref."""
    if not (found.folder / ".git").exists():
        return
    git, ref = Git(found.folder, context.environment), f"{UNDONE}{found.name}-files"
    head = await git.head()
    if head is None or await git.object(ref) is not None:  # a killed undo has kept it, and may have removed files
        return
    tree, commit = await snapshot.tree_of_all(git, as_committed=True), head
    if tree != await git.tree_of(head):
        commit = await snapshot.commit_tree(git, tree, [head], f"the files of the worktree {found.name}")
    if commit not in (plan.tip, plan.base):
        await context.git.run("update-ref", "--no-deref", ref, commit)
        context.say(f"the work in {found.folder} is kept as {ref}")


async def _remove_worktrees(git: Git, plan: UndoPlan) -> list[str]:
    for found in plan.worktrees:
        await worktree.remove(git, found)
    return [os.fspath(found.folder) for found in plan.worktrees]
