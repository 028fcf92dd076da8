"""Executes the effects of parallel workers: each works in its own worktree, and their work is merged in turn.

prepare_copy  brings a worker's copy to the newest commit of the run, merged with earlier work of its task
save_work     saves the work of a task that waits, so that its copy is free for another
merge         rebases a task's commit onto the newest commit of the run, in the worker's copy, where checks run on it
land          moves the run's branch to a commit whose checks passed

Each can be repeated: it starts from what is in its arguments, and only `land` moves the branch.
"""

from __future__ import annotations

from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.checks.setup_commands import commands, ensure_setup
from bridle.loop.effect_results import LandResult, MergeResult, PrepareCopyResult, SaveWorkResult
from bridle.loop.effects import LandArgs, MergeArgs, PrepareCopyArgs, SaveWorkArgs
from bridle.loop.performers.branch import commit_message, keep_branch, keep_moved, make_plain, say_all
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.fill_submodules import fill_submodules
from bridle.loop.working_copy.refs import kept_ref, run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import check_out, keep_foreign_changes
from bridle.workspace import snapshot
from bridle.workspace.commit import is_ancestor, is_merging, write_commit
from bridle.workspace.merge import Conflicts, merged_tree
from bridle.workspace.move_files import move_without_git
from bridle.workspace.repair.forged_objects import refuse_forged
from bridle.workspace.repair.lost_objects import is_readable

# Names of conflicting files and of the tasks that changed them: enough for a prompt.
SHOWN_NAMES = 50


async def prepare_copy(args: PrepareCopyArgs, context: RunContext) -> PrepareCopyResult:
    """Prepare a worker's copy for a task."""
    git, tip = context.git, args.tip
    is_clean = await check_out(context, tip, is_known=known_files.take_over(context, args.kind))
    await fill_submodules(context)
    tree = await git.tree_of(tip)
    failed = await ensure_setup(context, tree, task=args.task)
    if args.kept is None and is_clean and not commands(context):
        known_files.hand_over(context, args.kind)
    if args.kept is None or not await is_readable(git, args.kept):
        if args.kept is not None:
            context.say(f"git has lost the work on {args.task!r}, {args.kept}: it is done again")
        return PrepareCopyResult(head=tip, tree=tree, setup=failed)
    merged = await merged_tree(git, tip, args.kept)
    if isinstance(merged, Conflicts):
        return PrepareCopyResult(
            head=tip,
            tree=tree,
            setup=failed,
            conflicts=merged.paths[:SHOWN_NAMES],
            conflicts_with=await _conflicting_tasks(context, merged, tip, args.kept),
            message=merged.details,
        )
    await check_out(context, tip, merged)
    await fill_submodules(context)
    return PrepareCopyResult(head=tip, tree=merged, setup=failed)


async def save_work(args: SaveWorkArgs, context: RunContext) -> SaveWorkResult:
    """Save the work of a task under a ref."""
    git = context.git
    tree = await work_tree(context)
    head = await git.head()
    commit = await snapshot.commit_tree(git, tree, [head or context.base], f"work on {args.task!r} that waits")
    return SaveWorkResult(kept=await _hold(context, args, commit), tree=tree)


async def merge(args: MergeArgs, context: RunContext) -> MergeResult:
    """Rebase a task's commit onto the newest one; where they conflict, nothing changes."""
    git, tip, commit = context.git, args.tip, args.commit
    is_known = known_files.take_over(context, args.kind)
    is_child = (tip,) == await git.parents_of(commit)
    tree = await git.tree_of(commit) if is_child else await merged_tree(git, tip, commit)
    if isinstance(tree, Conflicts):
        return MergeResult(
            kept=await _hold(context, args, commit),
            tree=await git.tree_of(commit),
            conflicts=tree.paths[:SHOWN_NAMES],
            conflicts_with=await _conflicting_tasks(context, tree, tip, commit),
            message=tree.details,
        )
    merged = None
    if tree != await git.tree_of(tip):
        merged = commit if is_child else await _commit(args, context, tree)
    head = merged or tip
    is_clean = await check_out(context, head, is_known=is_known)
    await fill_submodules(context)
    failed = await ensure_setup(context, tree, task=args.task)
    if is_clean and not commands(context):
        known_files.hand_over(context, args.kind)
    kept = await _hold(context, args, head)
    return MergeResult(commit=merged, head=head, tree=tree, kept=kept, setup=failed)


async def land(args: LandArgs, context: RunContext) -> LandResult:
    """Move the run's branch and the files of its own copy; anything else found there is saved first."""
    git, branch = context.git, run_branch(context.run)
    say_all(context, await make_plain(context, args.tip))
    now = await git.object(f"refs/heads/{branch}")
    is_newer = (
        now is not None
        and now != args.tip
        and await is_ancestor(git, args.tip, now)
        and not await is_ancestor(git, now, args.commit)
    )
    if is_newer:
        context.say(f"{branch} has new commits, which are not of this run; {args.task!r} is merged with them")
        return LandResult(branch=branch, newer=now)
    if now is not None and now not in (args.commit, args.tip):
        ref = await keep_moved(context, now)
        context.say(f"the branch {branch} had been moved by another program; its commit is kept as {ref}")
    await keep_branch(context, head=args.tip)
    if not await _move_own_copy(context, args):
        return await land(args, context)
    return LandResult(commit=args.commit, branch=branch)


async def _move_own_copy(context: RunContext, args: LandArgs) -> bool:
    """Move files, index and branch; what must be overwritten is kept under a ref first.

    Return False where another program has committed since the branch was looked at.
    """
    git = context.git
    is_at_tip = await git.head() == args.tip
    if is_at_tip and not await is_merging(git):
        trees = [await git.tree_of(commit) for commit in (args.tip, args.commit)]
        is_moved = await move_without_git(git, *trees)
        if await git.head() != args.tip:
            return False
        if is_moved:
            await git.move_head(args.commit, f"reset: moving to {args.commit}", old=args.tip)
            return True
    # Git refuses where a changed or untracked file is in the way; all others stay as they are.
    if (await git.run("reset", "--quiet", "--keep", args.commit, accepts=(0, 1, 128)))[0] != 0:
        if is_at_tip:
            await keep_foreign_changes(context, args.tip, args.commit)
        await git.run("reset", "--quiet", "--hard", args.commit)
    return True


async def _commit(args: MergeArgs, context: RunContext, tree: str) -> str:
    """Make the task's commit again on top of the newest one, by the same author."""
    message = commit_message(args, context)
    await refuse_forged(context.git, tree, args.tip)
    return await write_commit(context.git, tree, [args.tip], message, author_from=args.commit)


async def _hold(context: RunContext, args: SaveWorkArgs | MergeArgs, commit: str) -> str:
    ref = kept_ref(context.run, args.task, args.iteration)
    await snapshot.write_ref(context.git, ref, commit)
    return ref


async def _conflicting_tasks(context: RunContext, conflicts: Conflicts, tip: str, other: str) -> tuple[str, ...]:
    """Return the titles of the commits that changed the conflicting files since."""
    names = [f":(top,literal){name}" for name in conflicts.paths[:SHOWN_NAMES]]
    titles = await context.git.text("log", "--format=%s", f"{other}..{tip}", "--", *names)
    return tuple(dict.fromkeys(titles.splitlines()))[:SHOWN_NAMES]
