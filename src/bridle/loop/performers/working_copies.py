"""Which working copy an effect runs in. A worktree that is missing or incomplete is made again."""

from __future__ import annotations

import asyncio
import shlex
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.errors import UsageError
from bridle.ground.git_exclude import exclude_from_git
from bridle.ground.lock import FileLock
from bridle.loop import effects
from bridle.loop.checks.setup_commands import ensure_setup
from bridle.loop.effects import Arguments, CopyState
from bridle.loop.performers import pre_hooks
from bridle.loop.performers.branch import return_to_branch
from bridle.loop.working_copy.fill_submodules import fill_submodules
from bridle.loop.working_copy.hide_own_folders import hide_own_folders
from bridle.loop.working_copy.leave_branch import worktree_with
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import (
    copy_user_check,
    in_worktree,
    is_complete,
    read_note,
    restore_tree,
    write_note,
)
from bridle.workspace import worktree
from bridle.workspace.git import Git
from bridle.workspace.worktree import Worktree

LOCK = "bridle-worktrees.lock"
# Another Bridle that makes a worktree of a large repository takes no longer.
LOCK_SECONDS = 300.0
# These run the setup themselves, and return how it ended.
_RUN_SETUP_THEMSELVES = frozenset({effects.PREPARE, effects.PREPARE_COPY, effects.MERGE})


class Worktrees(Struct, frozen=True):
    """The working copies of one run."""

    context: RunContext
    """In the user's own working copy."""
    has_worktree: bool
    _contexts: dict[int | None, RunContext] = field(default_factory=dict)
    """Of the worktrees, by worker: what their `Git` knows is kept from effect to effect."""

    async def context_for(self, args: Arguments[Any]) -> RunContext:
        """Return the context of the working copy in which an effect runs, which exists from now on."""
        if not self.has_worktree:
            if args.kind != effects.PREPARE:
                await return_to_branch(self.context)
            return self.context
        if args.worker not in self._contexts:
            self._contexts[args.worker] = in_worktree(self.context, args.worker)
        context = self._contexts[args.worker]
        if not is_complete(context.folder):
            context = self._contexts[args.worker] = in_worktree(self.context, args.worker)
            await _make(context, args.copy_state or CopyState(), runs_setup=args.kind not in _RUN_SETUP_THEMSELVES)
        return context


async def _make(context: RunContext, state: CopyState, *, runs_setup: bool) -> None:
    """Make a worktree in its recorded state: a commit, with a task's uncommitted work."""
    head = state.head or context.base
    await _add(context, head)
    await fill_submodules(context)
    copy_user_check(context.progress_folder, context.folder)
    if runs_setup and await ensure_setup(context, f"{head}^{{tree}}", task="worktree") is not None:
        context.say(f"the worktree {context.folder} was missing and was made again, but its setup failed")
    if state.tree is not None:
        await restore_tree(context, state.tree)
    write_note(context.folder, replace(read_note(context.folder), is_whole=True))


async def _add(context: RunContext, head: str) -> None:
    """Add a fresh worktree at a commit; the run's own is on its branch."""
    home = Git(context.progress_folder, context.environment)
    path = await home.common_folder() / LOCK
    lock = await asyncio.to_thread(FileLock.hold, path, holder=f"run {context.run}", wait_seconds=LOCK_SECONDS)
    try:
        exclude_from_git(context.progress_folder, runs=context.run_folder.parent)
        await worktree.remove(home, Worktree(context.folder.name, context.folder, None))
        branch = run_branch(context.run) if context.worker is None else None
        if branch is not None and (other := await worktree_with(home, branch, {context.folder})) is not None:
            raise UsageError(
                f"the worktree of this run was moved: its branch {branch} is checked out in {other}",
                remedy=f"Move it back, with its changes, and continue: git worktree move {shlex.quote(other)} "
                f"{shlex.quote(str(context.folder))} && bridle resume {context.run}",
            )
        if branch is not None and await home.object(f"refs/heads/{branch}") is None:
            await pre_hooks.before_branch(context, branch)
        await worktree.add(home, context.folder.name, at=head, branch=branch, is_for_an_agent=True)
        hide_own_folders(context)
    finally:
        lock.release()
