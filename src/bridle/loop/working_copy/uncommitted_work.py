"""`bridle run --no-commit`: the user's branch is checked out again at the end, with the run's work in the files.

Tasks are committed on the run's branch, which stays. Only HEAD and the index are moved, never a file. HEAD leaves the
run's branch before the index does, and comes back after it: killed between the two, all work is staged on the user's
branch, and the next driver finds its way from there by the note in the run's folder.
"""

from __future__ import annotations

from bridle.loop.working_copy import start_state, uncommitted_note
from bridle.loop.working_copy.leave_branch import worktree_with
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.restore import stage


async def leave(context: RunContext) -> None:
    """Check out the user's branch with the work of the run's branch in the files, which must have no other work."""
    git, branch, start = context.git, run_branch(context.run), context.came_from
    if await git.branch() != branch or await git.head() == context.base:
        return
    if obstacle := await _find_obstacle(context):
        context.say(f"{obstacle}: {branch} stays checked out, with its commits")
        return
    before = await start_state.find(context)
    index = before.index_tree if before is not None else await git.tree_of(context.base)
    uncommitted_note.write(context.run_folder, branch)
    why = f"bridle: leaving {branch}, without its commits"
    if start is not None:
        await git.run("symbolic-ref", "-m", why, "HEAD", f"refs/heads/{start}")
    else:
        await git.run("update-ref", "--no-deref", "-m", why, "HEAD", context.base)
    await stage(git, index)
    where = start or context.base[:12]
    context.say(f"{where} is checked out again, with the work in your files, not committed; {branch} has its commits")


async def is_left(context: RunContext) -> bool:
    """Return whether HEAD is where `leave` has put it, and the run's branch exists: the files are of that branch."""
    git = context.git
    tip = await git.object(f"refs/heads/{run_branch(context.run)}")
    if tip is None or not uncommitted_note.exists(context.run_folder) or await git.head() != context.base:
        return False
    return await git.branch() == context.came_from


async def enter(context: RunContext) -> bool:
    """Check out the run's branch again where `leave` has left it, and return whether it had; the files stay."""
    git, branch = context.git, run_branch(context.run)
    tip = await git.object(f"refs/heads/{branch}")
    if tip is None or not await is_left(context):
        return False
    await stage(git, await git.tree_of(tip))
    await git.run("symbolic-ref", "-m", f"bridle: back on {branch}", "HEAD", f"refs/heads/{branch}")
    uncommitted_note.remove(context.run_folder)
    return True


async def _find_obstacle(context: RunContext) -> str:
    """Return why the user's branch cannot have the work in its files; empty where it can."""
    git, start = context.git, context.came_from
    if start is None:
        return ""
    tip = await git.object(f"refs/heads/{start}")
    if tip is None:
        return f"the branch {start} does not exist any more"
    if tip != context.base:
        return f"{start} has new commits since the run began"
    other = await worktree_with(git, start, {context.folder})
    return "" if other is None else f"{start} is checked out in {other}"
