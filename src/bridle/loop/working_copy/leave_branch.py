"""Check out what the user had checked out before a run, once its branch has no work in the files."""

from __future__ import annotations

from pathlib import Path

from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.git import Git
from bridle.workspace.worktree import read_worktrees

_NO_HOOKS = ("-c", "core.hooksPath=/dev/null")


async def leave_branch(context: RunContext) -> None:
    """Check out the branch that the run came from. The files must be those of the commit that it began at."""
    git, start, base = context.git, context.came_from, context.base
    tip = None if start is None else await git.object(f"refs/heads/{start}")
    other = None if start is None else await worktree_with(git, start, {context.folder})
    why = f"bridle: leaving {run_branch(context.run)}"
    if start is not None and tip == base and other is None:
        await git.run("symbolic-ref", "-m", why, "HEAD", f"refs/heads/{start}")
        return
    await git.run("update-ref", "--no-deref", "-m", why, "HEAD", base)
    if start is None:
        return
    where = f"HEAD is detached at {base[:12]}, where the run began"
    if tip is None:
        context.say(f"the branch {start} does not exist any more; {where}")
    elif other is not None:
        context.say(f"{start} is checked out in {other}; {where}")
    elif (await git.run(*_NO_HOOKS, "checkout", "--quiet", start, accepts=(0, 1, 128)))[0] != 0:
        context.say(f"{start} has new commits, and your files prevent its checkout; {where}")
    else:
        context.say(f"{start} has new commits since the run began: it is checked out as it is now")


async def leave_empty_branch(context: RunContext) -> None:
    """Leave the run's branch where it has no commit, and remove it; `bridle resume` makes it again."""
    git, branch = context.git, run_branch(context.run)
    if await git.branch() != branch or await git.head() != context.base:
        return
    await leave_branch(context)
    if await worktree_with(git, branch, set()) is None:
        await git.run("update-ref", "--no-deref", "-d", f"refs/heads/{branch}", context.base)
    context.say(f"the run has no commit: {context.came_from or context.base[:12]} is checked out again")


async def worktree_with(git: Git, branch: str, others: set[Path]) -> str | None:
    """Return the worktree in which a branch is checked out, if it is not one of these."""
    known = {folder.resolve() for folder in others}
    for folder, checked_out in await read_worktrees(git):
        if checked_out == branch and folder.resolve() not in known:
            return str(folder)
    return None
