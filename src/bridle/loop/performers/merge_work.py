"""Executes the effects of parallel workers: each works in its own worktree, and their work is merged in turn.

prepare_copy  brings a worker's copy to the newest commit of the run, merged with earlier work of its task
save_work     saves the work of a task that waits, so that its copy is free for another
merge         rebases a task's commit onto the newest commit of the run, in the worker's copy, where checks run on it
land          moves the run's branch to a commit whose checks passed

Each can be repeated: it starts from what is in its arguments, and only `land` moves the branch.
"""

from __future__ import annotations

from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.checks.setup_commands import ensure_setup
from bridle.loop.effect_results import LandResult, MergeResult, PrepareCopyResult, SaveWorkResult
from bridle.loop.effects import LandArgs, MergeArgs, PrepareCopyArgs, SaveWorkArgs
from bridle.loop.performers.branch import commit_message, keep_branch, keep_moved
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.refs import kept_ref, run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.loop.working_copy.run_worktrees import check_out
from bridle.workspace import snapshot
from bridle.workspace.commit import is_ancestor
from bridle.workspace.git import Git
from bridle.workspace.merge import Conflicts, merged_tree

# Names of conflicting files and of the tasks that changed them: enough for a prompt.
SHOWN_NAMES = 50


async def prepare_copy(args: PrepareCopyArgs, context: RunContext) -> PrepareCopyResult:
    """Prepare a worker's copy for a task."""
    git, tip = context.git, args.tip
    await check_out(context, tip, is_known=known_files.take_over(context, args.kind))
    tree = await git.tree_of(tip)
    failed = await ensure_setup(context, tree, task=args.task)
    if args.kept is None:
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
    await check_out(context, head, is_known=is_known)
    failed = await ensure_setup(context, tree, task=args.task)
    kept = await _hold(context, args, head)
    return MergeResult(commit=merged, head=head, tree=tree, kept=kept, setup=failed)


async def land(args: LandArgs, context: RunContext) -> LandResult:
    """Move the run's branch and the files of its own copy; anything else found there is saved first."""
    git, branch = context.git, run_branch(context.run)
    now = await git.object(f"refs/heads/{branch}")
    is_newer = (
        now is not None and await is_ancestor(git, args.tip, now) and not await is_ancestor(git, now, args.commit)
    )
    if is_newer:
        context.say(f"{branch} has new commits, which are not of this run; {args.task!r} is merged with them")
        return LandResult(branch=branch, newer=now)
    if now is not None and now not in (args.commit, args.tip):
        ref = await keep_moved(context, now)
        context.say(f"the branch {branch} had been moved by another program; its commit is kept as {ref}")
    await keep_branch(context, head=args.tip)
    if now is not None and now == args.tip and await _has_foreign_changes(git, now, args.commit):
        saved = await snapshot.take(git, name=f"{context.run.lower()}-copy-{now}", why="changes in the run's own copy")
        context.say(f"files in {context.folder} had been changed by another program; they are kept as {saved.ref}")
    await git.run("-c", "core.hooksPath=/dev/null", "reset", "--quiet", "--hard", args.commit)
    return LandResult(commit=args.commit, branch=branch)


async def _has_foreign_changes(git: Git, tip: str, commit: str) -> bool:
    """Whether a copy has changes other than those of a `land` that was killed."""
    changed = await git.names("diff", "--name-only", "--no-renames", "-z", "HEAD")
    return bool(changed) and bool(set(changed) - set(await snapshot.changes(git, tip, commit)))


async def _commit(args: MergeArgs, context: RunContext, tree: str) -> str:
    """Make the task's commit again on top of the newest one, by the same author."""
    names = (await context.git.text("log", "-1", "--format=%an%x00%ae%x00%aI", args.commit)).split("\0")
    author = dict(zip(("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"), names, strict=True))
    flags = [*await context.git.identity(), "-c", "commit.gpgsign=false"]
    message = commit_message(args, context).encode("utf-8", "surrogateescape")
    _, text = await context.git.run(
        *flags, "commit-tree", tree, "-p", args.tip, "-F", "-", stdin=message, variables=author
    )
    return text.strip()


async def _hold(context: RunContext, args: SaveWorkArgs | MergeArgs, commit: str) -> str:
    ref = kept_ref(context.run, args.task, args.iteration)
    await snapshot.write_ref(context.git, ref, commit)
    return ref


async def _conflicting_tasks(context: RunContext, conflicts: Conflicts, tip: str, other: str) -> tuple[str, ...]:
    """Return the titles of the commits that changed the conflicting files since."""
    names = [f":(top,literal){name}" for name in conflicts.paths[:SHOWN_NAMES]]
    titles = await context.git.text("log", "--format=%s", f"{other}..{tip}", "--", *names)
    return tuple(dict.fromkeys(titles.splitlines()))[:SHOWN_NAMES]
