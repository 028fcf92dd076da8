"""Executes `bridle.prepare` and `bridle.rollback`.

Each can be repeated: a second attempt finds what the first one did.
"""

from __future__ import annotations

from bridle.errors import GitError, UsageError
from bridle.ground.git_exclude import exclude_from_git
from bridle.ground.git_folder import git_folder
from bridle.loop.checks import environment
from bridle.loop.checks.setup_commands import ensure_setup
from bridle.loop.effect_results import FileReport, PrepareResult, RollbackResult
from bridle.loop.effects import CommitArgs, MergeArgs, PrepareArgs, RollbackArgs
from bridle.loop.performers import pre_hooks
from bridle.loop.process.task_state import Verdict
from bridle.loop.protection import baseline, uncommitted_changes, untracked_files
from bridle.loop.protection.newly_ignored import is_generated
from bridle.loop.working_copy import recorded_hooks, start_state, uncommitted_note, uncommitted_work
from bridle.loop.working_copy.hide_own_folders import hide_own_folders
from bridle.loop.working_copy.leave_branch import worktree_with
from bridle.loop.working_copy.refs import KEPT, run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot
from bridle.workspace.commit import CommitInfo, first_parents, format_message, is_ancestor, list_commits
from bridle.workspace.git import FALLBACK_ADDRESS, FALLBACK_NAME, Git
from bridle.workspace.restore import restore

RUN = "Bridle-Run"
TASK = "Bridle-Task"
ITERATION = "Bridle-Iteration"
COST = "Bridle-Cost"
CHECKS = "Bridle-Checks"
JOURNAL = "Bridle-Journal"

# Commits that are read first: those of one iteration, unless its agent commits at every step.
RECENT = 50
# Files that prevent a checkout: enough to see what they are.
SHOWN_NAMES = 5


async def prepare(_args: PrepareArgs, context: RunContext) -> PrepareResult:
    """Check out the run's branch, create it where needed, and record the baseline."""
    exclude_from_git(context.progress_folder, runs=context.run_folder.parent)
    hide_own_folders(context)
    git, branch = context.git, run_branch(context.run)
    await uncommitted_changes.put_aside(context)
    if await git.branch() != branch:
        exists = await git.object(f"refs/heads/{branch}") is not None
        if not exists:
            await pre_hooks.before_branch(context, branch)
        target = [branch] if exists else ["-b", branch, context.base]
        await git.run("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", *target)
    await start_state.record(context)
    failed = None
    if context.repository is not None and context.settings.parallel == 1:  # else each worker has its own worktree
        failed = await ensure_setup(context, await git.tree_of(context.base), task="prepare")
    await recorded_hooks.record(context)
    start = await baseline.record(context)
    await environment.record(context)
    found = untracked_files.describe_checks(context, start)
    for line in (*found, *await _describe_commits(git)):
        context.say(line)
    return PrepareResult(
        branch=branch,
        base=context.base,
        protected=tuple(start.lines()),
        origin=start.digest,
        setup=failed,
        found=tuple(found),
    )


async def _describe_commits(git: Git) -> list[str]:
    """Return how the commits of the run differ from the user's own."""
    lines, settings = [], await git.settings()
    if await git.identity():
        lines.append(
            f"git knows no user.name or user.email: commits of this run are by {FALLBACK_NAME} <{FALLBACK_ADDRESS}>;"
            " for yours: git config --global user.name NAME, and user.email ADDRESS"
        )
    if settings.get("commit.gpgsign", "false").lower() in ("true", "yes", "on", "1", ""):
        lines.append("commit.gpgsign is set, but commits of this run are not signed: no user unlocks the key")
    return lines


async def return_to_branch(context: RunContext) -> None:
    """Check the run's branch out again where the user has left it; git carries uncommitted changes over.

    On another branch, files that it does not have would count as deleted.
    """
    if git_folder(context.folder) is None:
        raise GitError(
            f"{context.folder} is not a git repository any more",
            remedy=f"Restore its .git folder from a backup, then run: bridle resume {context.run}",
        )
    git, branch = context.git, run_branch(context.run)
    there = await git.branch()
    if there == branch:
        uncommitted_note.remove(context.run_folder)
        return
    if await git.object(f"refs/heads/{branch}") is None:
        raise UsageError(
            f"the branch {branch} of this run does not exist any more",
            remedy="Start a new run, or restore the branch from its last commit, which `bridle status` shows: "
            f"git branch {branch} COMMIT",
        )
    head = await git.head()
    detached = head if there is None else None
    if not await _check_out(git, branch):
        if await uncommitted_work.enter(context):
            return
        if (other := await worktree_with(git, branch, set())) is not None:
            raise UsageError(
                f"the run's branch {branch} is checked out in another worktree, {other}",
                remedy=f"Check out another branch there, and then run: bridle resume {context.run}",
            )
        if head is None:
            raise UsageError(
                f"{there} is checked out, a branch without a commit, and its files prevent a checkout of {branch}",
                remedy=f"Commit them there, or continue with them on the run's branch: git symbolic-ref HEAD "
                f"refs/heads/{branch} && bridle resume {context.run}",
            )
        raise await _checkout_refusal(git, there, branch)
    uncommitted_note.remove(context.run_folder)
    context.say(f"{there or 'a commit'} was checked out; switched back to {branch}")
    if detached is not None and not await git.text("for-each-ref", "--count=1", "--contains", detached):
        ref = f"{KEPT}{context.run.lower()}/detached-{detached}"
        await git.run("update-ref", "--no-deref", ref, detached)
        context.say(f"that commit, {detached[:12]}, is on no branch; it is kept as {ref}")


async def _check_out(git: Git, branch: str) -> bool:
    """Check out a branch with all uncommitted changes; False where git refuses, and then nothing has changed."""
    arguments = ("-c", "core.hooksPath=/dev/null", "checkout", "--quiet", branch)
    return (await git.run(*arguments, accepts=(0, 1, 128)))[0] == 0


async def _checkout_refusal(git: Git, there: str | None, branch: str) -> UsageError:
    """Return the error for files that prevent a checkout of the run's branch."""
    untracked, changed = await _in_the_way(git, branch)
    what = [f"untracked files ({', '.join(untracked)})"] if untracked else []
    what += [f"uncommitted changes ({', '.join(changed)})"] if changed or not untracked else []
    todo = ["move the untracked files elsewhere"] if untracked else []
    todo += ["commit or stash the changes"] if changed or not untracked else []
    return UsageError(
        f"{there or 'no branch'} is checked out, and {' and '.join(what)} prevent a checkout of the run's branch "
        f"{branch}",
        remedy=f"{' and '.join(todo).capitalize()}, and then: git checkout {branch} && bridle resume",
    )


async def _in_the_way(git: Git, branch: str) -> tuple[list[str], list[str]]:
    """Return the untracked files and the changed ones that a checkout of a branch would overwrite."""
    touched = {*await git.names("diff", "--name-only", "--no-renames", "-z", "HEAD", branch)}
    lines = await git.names("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all")
    found = [(line[:2] == "??", line[3:]) for line in lines if line[3:] in touched]
    untracked = [name for is_untracked, name in found if is_untracked]
    return untracked[:SHOWN_NAMES], [name for is_untracked, name in found if not is_untracked][:SHOWN_NAMES]


async def keep_branch(context: RunContext, *, head: str | None = None) -> bool:
    """Point HEAD at the run's branch again where an agent has left it, and return whether it had.

    The files stay as they are.
    """
    if context.worker is not None:
        return await _keep_detached(context.git, head)
    git, branch = context.git, run_branch(context.run)
    has_left = await git.branch() != branch
    if has_left:
        if head is not None and await git.object(f"refs/heads/{branch}") is None:
            await git.run("update-ref", "--no-deref", f"refs/heads/{branch}", head)  # the agent has deleted the branch
        # An agent may have checked out an older commit only to read it: then the branch's files come back.
        if not (head is not None and await _is_below(git, head) and await _check_out(git, branch)):
            await git.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
    if head is not None and not await _is_above(git, head):
        # The agent has reverted or rewritten commits of tasks that are done.
        now = await git.head()
        if now is not None and not await is_ancestor(git, now, head):
            ref = await keep_moved(context, now)
            context.say(f"{branch} was rewritten while an agent worked, and was restored; its commit is kept as {ref}")
        await git.run("update-ref", "--no-deref", "-m", "bridle: an agent had moved it", f"refs/heads/{branch}", head)
        return True
    return has_left


async def make_plain(context: RunContext, last: str | None) -> list[FileReport]:
    """Let the run's branch hold an id again, the last known one, where it names another branch; report that.

    The next commit would move that other branch.
    """
    branch = run_branch(context.run)
    ref = f"refs/heads/{branch}"
    if not await context.git.is_symbolic(ref):
        return []
    wanted = last or await context.git.object(ref) or context.base
    await context.git.run("update-ref", "--no-deref", "-m", "bridle: it named another branch", ref, wanted)
    return [FileReport(branch, f"it named another branch, which the next commit would move; it is {wanted} again")]


async def keep_moved(context: RunContext, commit: str) -> str:
    """Keep a commit that the run's branch is moved away from under a ref; return the ref."""
    ref = f"{KEPT}{context.run.lower()}/moved-{commit}"
    await context.git.run("update-ref", "--no-deref", ref, commit)
    return ref


async def _is_below(git: Git, head: str) -> bool:
    """Return whether the checked-out commit is an ancestor of this one."""
    now = await git.head()
    return now is not None and await is_ancestor(git, now, head)


async def _is_above(git: Git, head: str) -> bool:
    """Return whether the checked-out commit is this one or a descendant of it."""
    now = await git.head()
    return now is not None and await is_ancestor(git, head, now)


async def _keep_detached(git: Git, head: str | None) -> bool:
    """Detach HEAD again in a worker's copy, at the commit that it started from or above it."""
    is_above = head is None or await _is_above(git, head)
    if is_above and await git.branch() is None:
        return False
    wanted = await git.head() if is_above else head
    if wanted is not None:
        await git.run("update-ref", "--no-deref", "-m", "bridle: an agent had left it", "HEAD", wanted)
    return True


def say_all(context: RunContext, reports: list[FileReport]) -> None:
    """Print what was found outside of an iteration."""
    for report in reports:
        context.say(f"{report.path}: {report.what}")


async def roll_back(args: RollbackArgs, context: RunContext) -> RollbackResult:
    """Restore a snapshot; what was there is saved in another one first."""
    git = context.git
    wanted = await snapshot.find(git, args.snapshot)
    if wanted is None:
        raise UsageError(
            f"the snapshot {args.snapshot}, to which {context.folder} must be restored, does not exist any more",
            remedy="The run cannot continue. Commit the files that you want to keep, then start a new one: bridle run",
        )
    kept = f"{args.snapshot}-undone-{args.iteration}"
    undone = await snapshot.find(git, kept)  # a second attempt must not overwrite what the first one saved
    if undone is None:
        undone = await snapshot.take(git, name=kept, why=f"undone: {args.why}")
    leave = await untracked_files.find_left_alone(context, wanted.tree, undone.tree)
    await restore(git, wanted, keep=undone, is_kept=lambda name: not is_generated(name), leave=leave)
    return RollbackResult(restored=wanted.commit, head=wanted.head, tree=wanted.tree, kept=kept)


async def last_of_run(git: Git, context: RunContext) -> str | None:
    """Return the newest commit that Bridle made for a task of this run."""
    commits = first_parents(await recent_commits(git, context))
    return next((commit.commit for commit in commits if commit.trailers.get(RUN) == context.run), None)


async def recent_commits(git: Git, context: RunContext) -> list[CommitInfo]:
    """Return the newest commits, at least back to the last one of a task."""
    recent = await list_commits(git, context.base, limit=RECENT)
    is_enough = len(recent) < RECENT or any(commit.trailers.get(RUN) == context.run for commit in first_parents(recent))
    return recent if is_enough else await list_commits(git, context.base)


def _cost(args: CommitArgs | MergeArgs) -> str:
    if args.cost_usd is None:
        return f"at least {args.known_cost_usd:.4f} USD" if args.known_cost_usd else "unknown"
    return f"{args.cost_usd:.4f} USD"


def commit_message(args: CommitArgs | MergeArgs, context: RunContext) -> str:
    """Return the message of a task's commit: its title, and trailers with run, iteration, cost, checks and journal."""
    trailers = {
        RUN: context.run,
        TASK: args.task,
        ITERATION: str(args.iteration),
        COST: _cost(args),
        CHECKS: f"{args.checks} passed" if args.checks and args.verdict != Verdict.UNVERIFIED else "none",
    }
    if context.journal_head is not None:
        trailers[JOURNAL] = context.journal_head
    return context.mask.apply(format_message(args.task, "", trailers))
