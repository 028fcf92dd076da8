"""Which working copy an effect is performed in. A worktree that is not there, or was left half made, is made for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from bridle.ground.lock import FileLock
from bridle.loop import effects
from bridle.loop.checks.setup_commands import set_up
from bridle.loop.performers import pre_hooks
from bridle.loop.performers.branch import return_to_branch
from bridle.loop.working_copy.refs import branch_of
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import bring_own_check, in_worktree, is_there, put, read_note, write_note
from bridle.run.logs import exclude_from_git
from bridle.workspace import worktree
from bridle.workspace.git import Git
from bridle.workspace.worktree import Worktree

LOCK = "bridle-worktrees.lock"
# Another Bridle that makes a worktree of a large repository needs no longer.
LOCK_SECONDS = 300.0
# These run the setup themselves, and tell how it ended.
_SET_UP_THEMSELVES = frozenset({effects.PREPARE, effects.TAKE, effects.MERGE})


@dataclass(frozen=True)
class Worktrees:
    """The working copies of one run."""

    bench: RunContext
    """In the person's own."""
    has_worktree: bool

    async def bench_for(self, kind: str, args: Mapping[str, Any]) -> RunContext:
        """The bench for an effect of that kind with these arguments, in a working copy that is there."""
        if not self.has_worktree:
            if kind != effects.PREPARE:
                await return_to_branch(self.bench)
            return self.bench
        made = in_worktree(self.bench, args.get("worker"))
        if not is_there(made.folder):
            await _make(made, args.get("stands") or {}, sets_up=kind not in _SET_UP_THEMSELVES)
        return made


async def _make(bench: RunContext, stands: Mapping[str, Any], *, sets_up: bool) -> None:
    """Make a worktree as it stands according to the journal: at a commit, with a task's work on top of it."""
    head, tree = str(stands.get("head") or bench.base), stands.get("tree")
    await _add(bench, head)
    bring_own_check(bench.progress_folder, bench.folder)
    if sets_up and await set_up(bench, f"{head}^{{tree}}", task="worktree") is not None:
        bench.say(f"the setup failed in {bench.folder}, which had to be made anew; its checks will tell")
    if tree is not None:
        await put(bench, str(tree))
    write_note(bench.folder, replace(read_note(bench.folder), is_whole=True))


async def _add(bench: RunContext, head: str) -> None:
    """A fresh worktree at a commit; the run's own is on its branch."""
    home = Git(bench.progress_folder, bench.environment)
    path = await home.common_folder() / LOCK
    lock = await asyncio.to_thread(FileLock.hold, path, holder=f"run {bench.run}", wait_seconds=LOCK_SECONDS)
    try:
        exclude_from_git(bench.progress_folder)
        await worktree.remove(home, Worktree(bench.folder.name, bench.folder, None))
        branch = branch_of(bench.run) if bench.worker is None else None
        if branch is not None and await home.object(f"refs/heads/{branch}") is None:
            await pre_hooks.before_branch(bench, branch)
        await worktree.add(home, bench.folder.name, at=head, branch=branch, is_for_an_agent=True)
    finally:
        lock.release()
