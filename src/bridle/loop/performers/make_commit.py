"""Executes `bridle.commit`: one commit for a task. A second attempt finds the commit of the first one.

Git's own hooks `pre-commit` and `commit-msg` of the user's repository are one more check before it. Only a hook that is
as it was when the run began runs, in the sandbox of checks. What it changes in the files is reverted, as after a check,
and so is what it stages: the commit is the tree that was checked. Its output is in the next prompt.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.errors import GitError
from bridle.ground import disk
from bridle.loop.checks.fixed_tree import StagedWork, stage_work
from bridle.loop.checks.run_check import run_check
from bridle.loop.effect_results import CheckResult, CommitResult, FileReport
from bridle.loop.effects import BASELINE, OF_GUARD, Check, CommitArgs
from bridle.loop.performers import pre_hooks
from bridle.loop.performers.after_check import unchanged_by_checks
from bridle.loop.performers.branch import (
    ITERATION,
    RUN,
    TASK,
    commit_message,
    keep_branch,
    keep_moved,
    make_plain,
    recent_commits,
    say_all,
)
from bridle.loop.working_copy import kept_index, known_files, recorded_hooks
from bridle.loop.working_copy.fill_submodules import keep_submodule_commits
from bridle.loop.working_copy.recorded_hooks import COMMIT_MSG, PRE_COMMIT
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import files_index, snapshot
from bridle.workspace.commit import commit_index, first_parents, is_ancestor, write_commit
from bridle.workspace.git import Git
from bridle.workspace.repair.forged_objects import refuse_forged
from bridle.workspace.restore import stage

# In a folder of its own: in the sandbox of the hook it is the only part of `.ralph` that can be written.
MESSAGE_FILE = ".ralph/commit-message/COMMIT_EDITMSG"
# How much of the end of a hook's output goes into the next prompt and the receipt.
OUTPUT_CHARACTERS = 4000
# The logs of hooks have numbers after those of checks.
_NUMBER = 900
_LIMIT_BYTES = 8 * 1024 * 1024
# A program that commits in a loop needs some time for each commit.
COMMIT_TRIES = 50
# How many reports of a hook are printed and in the receipt.
SHOWN_NAMES = 20


class HookedMessage(Struct, frozen=True):
    """The message of a commit after the hooks, or why they refused the commit."""

    message: str
    refused: str | None = None
    hook: CheckResult | None = None
    """How the hook ended that refused it."""
    reported: tuple[FileReport, ...] = ()
    """What code that a hook ran did to the repository, as after a check."""


async def make_commit(args: CommitArgs, context: RunContext) -> CommitResult:
    """Make one commit for a task, with trailers by which a second attempt finds it."""
    git, is_known = context.git, known_files.take_over(context, args.kind)
    await kept_index.recover(context)
    start = args.copy_state.head or None if args.copy_state is not None else None
    if context.worker is None:
        say_all(context, await make_plain(context, start or args.tip))
    await keep_branch(context, head=start)
    is_first = is_known and args.tip is not None and await git.head() == args.tip  # right after the checks
    existing = await _find(git, context, args) if not is_first else None
    if existing is not None and args.tree in (None, existing_tree := await git.tree_of(existing)):
        is_below_tip = args.tip is not None and await is_ancestor(git, existing, args.tip)  # below commits of the user
        return CommitResult(
            commit=existing, head=args.tip if is_below_tip else existing, tree=existing_tree, found=True
        )
    message = commit_message(args, context)
    if pre_hooks.has_commit_hooks(context):
        is_known = False  # a hook may change files
        refused = await pre_hooks.before_commit(args, context, run_branch(context.run), message)
        if refused is not None:
            return CommitResult(refused=refused)
    staged = await stage_work(context, is_known=is_known, base=args.tip)  # without the user's own untracked files
    changed: tuple[FileReport, ...] = ()
    if args.tree not in (None, staged.tree):
        if not args.as_checked or args.tree is None:
            return CommitResult(again=staged.tree)  # the checks ran on other files
        changed = await _stage_checked(git, args, staged.tree)
        staged = StagedWork(args.tree, is_refreshed=False)
    hooked = await _run_hooks(args, context, message)
    if hooked.refused is not None:
        return CommitResult(refused=hooked.refused, hook=hooked.hook, reported=hooked.reported)
    folded = await _fold_agent_commits(git, context, args.tip) if not args.as_checked else []
    await refuse_forged(git, staged.tree, await git.head())
    await keep_submodule_commits(context, staged.tree)
    if args.as_checked:
        commit, folded = await _commit_checked(context, staged.tree, args.tip, hooked.message)
    else:
        commit, is_alone = await _commit_if_alone(git, hooked.message, staged)
        if not is_alone:
            return CommitResult(again=staged.tree, folded=tuple(folded))  # another program commits or stages too
    await files_index.accept_real_index(git, staged.tree)
    known_files.hand_over(context, args.kind)
    head = commit or await git.head()  # nothing has changed since the last commit, which the verdict is about
    tree = await git.tree_of(head) if head else None
    return CommitResult(
        commit=commit, head=head, tree=tree, folded=tuple(folded), reported=(*hooked.reported, *changed)
    )


async def _stage_checked(git: Git, args: CommitArgs, now: str) -> tuple[FileReport, ...]:
    """Stage the tree that was checked; report the files that differ from it: they stay as they are."""
    tree = args.tree or now
    await stage(git, tree, base=args.tip)
    names = await snapshot.changes(git, tree, now)
    return tuple(FileReport(name, "changed after the checks: not in the commit") for name in names[:SHOWN_NAMES])


async def _commit_checked(
    context: RunContext, tree: str, tip: str | None, message: str
) -> tuple[str | None, list[str]]:
    """Commit a tree on the tip although another program commits too; keep its commits under a ref, and return them."""
    git = context.git
    for number in range(COMMIT_TRIES):
        head = await git.head()
        parent = tip or head
        if head is None or parent is None:
            break
        above = [] if head == parent else (await git.text("rev-list", "--first-parent", f"{parent}..{head}")).split()
        if above:
            context.say(
                f"commits that another program made while the checks ran are kept as {await keep_moved(context, head)}"
            )
        is_same = tree == await git.tree_of(parent)
        commit = parent if is_same else await write_commit(git, tree, [parent], message)
        try:
            await git.move_head(commit, f"commit: {message.partition(chr(10))[0]}", old=head)
        except GitError:  # it has moved again
            if number == COMMIT_TRIES - 1:
                raise
            continue
        return None if is_same else commit, above
    return await commit_index(git, message, tree=tree), []


async def _find(git: Git, context: RunContext, args: CommitArgs) -> str | None:
    """Return the commit of a task's iteration, found by its trailers."""
    title = context.mask.apply(" ".join(args.task.split()))  # as in the commit's message
    wanted = {RUN: context.run, TASK: title, ITERATION: str(args.iteration)}
    for commit in await recent_commits(git, context):
        if all(commit.trailers.get(name) == value for name, value in wanted.items()):
            return commit.commit
    return None


async def _fold_agent_commits(git: Git, context: RunContext, tip: str | None) -> list[str]:
    """Undo commits that the agent made, and keep their changes for the task's commit.

    Commits above the tip are the agent's, whatever their trailers say; without a tip the trailers decide.
    """
    if tip is not None:
        return await _move_back(git, tip)
    folded: list[str] = []
    for commit in first_parents(await recent_commits(git, context)):
        if commit.trailers.get(RUN) == context.run:
            break
        folded.append(commit.commit)
    parents = await git.parents_of(folded[-1]) if folded else ()
    return await _move_back(git, parents[0]) if parents else []


async def _move_back(git: Git, commit: str) -> list[str]:
    """Point the branch to a commit, the files and the index stay; return the commits above it, if another adds some."""
    for number in range(COMMIT_TRIES):
        head = await git.head()
        if head is None or head == commit:
            break
        above = (await git.text("rev-list", "--first-parent", f"{commit}..{head}")).split()
        try:
            await git.move_head(commit, f"reset: moving to {commit}", old=head)
        except GitError:  # it has moved again
            if number == COMMIT_TRIES - 1:
                raise
            continue
        return above
    return []


async def _commit_if_alone(git: Git, message: str, staged: StagedWork) -> tuple[str | None, bool]:
    """Commit the staged work; return the commit, and whether no other program moved HEAD or staged files."""
    head = await git.head()
    try:
        commit = await commit_index(git, message, tree=staged.tree, is_refreshed=staged.is_refreshed)
    except GitError:
        if await git.head() == head:
            raise
        return None, False
    if commit is None or head is None or await git.tree_of(commit) == staged.tree:
        return commit, True
    with suppress(GitError):  # it has moved again
        await git.move_head(head, "reset: other files were staged during the commit", old=commit)
    return None, False


async def say_failing_hook(context: RunContext) -> None:
    """Print a warning if the hook `pre-commit` fails before any work: it may refuse each commit of the run."""
    hooks = await recorded_hooks.find_unchanged(context) if context.settings.git_hooks == recorded_hooks.RUN else {}
    if PRE_COMMIT not in hooks:
        return
    index = await kept_index.keep(context)
    result = await _run(BASELINE, context, PRE_COMMIT, [str(hooks[PRE_COMMIT])])
    await kept_index.restore(context, index)
    if not result.passed:
        context.say(
            f"{_refusal(PRE_COMMIT, result)}\nIt fails before any work, and a commit that it refuses costs a try. If no"
            ' task is to fix that, press Ctrl-C and fix it, or set git_hooks = "skip" in bridle.toml'
        )


async def _run_hooks(args: CommitArgs, context: RunContext, message: str) -> HookedMessage:
    """Run the hooks on the staged work; the message keeps Bridle's trailers, whatever a hook makes of it."""
    hooks = await recorded_hooks.find_unchanged(context) if context.settings.git_hooks == recorded_hooks.RUN else {}
    if not hooks:
        return HookedMessage(message)
    async with unchanged_by_checks(context) as fixed:
        index = await kept_index.keep(context)
        hooked = await _run_all(args, context, message, hooks)
        left = await kept_index.restore(context, index)
    staged = await kept_index.changed_names(context.git, index, left)
    changed = list(dict.fromkeys([*fixed.changed, *staged]))[:SHOWN_NAMES]
    for name in changed:
        context.say(f"{args.task}: a git hook changed {name}; the change was reverted")
    if fixed.kept:
        context.say(f"{args.task}: what was reverted is kept as {fixed.kept}")
    for report in fixed.reports[:SHOWN_NAMES]:
        context.say(f"{args.task}: after a git hook: {report.path}: {report.what}")
    reports = [*fixed.reports[:SHOWN_NAMES], *(FileReport(name, "changed or staged; reverted") for name in changed)]
    reported = tuple(FileReport(one.path, f"during a git hook: {one.what}") for one in reports)
    return replace(hooked, refused=_with_changed(hooked.refused, changed), reported=reported)


def _with_changed(refused: str | None, changed: Sequence[str]) -> str | None:
    """Add to a refusal what the hook changed itself: an agent does not find it in the files."""
    if refused is None or not changed:
        return refused
    return f"{refused}\n\nThe hook changed or staged these files itself, which was reverted: {', '.join(changed)}"


async def _run_all(args: CommitArgs, context: RunContext, message: str, hooks: dict[str, Path]) -> HookedMessage:
    if PRE_COMMIT in hooks:
        result = await _run(args.task, context, PRE_COMMIT, [str(hooks[PRE_COMMIT])])
        if not result.passed:
            return _refused(message, PRE_COMMIT, result)
    if COMMIT_MSG not in hooks:
        return HookedMessage(message)
    path = context.folder / MESSAGE_FILE
    disk.make_private_folder(path.parent)
    disk.write_atomic(path, message.encode("utf-8", "surrogateescape"))
    try:
        words = [str(hooks[COMMIT_MSG]), MESSAGE_FILE]
        result = await _run(args.task, _with_writable(context, path.parent), COMMIT_MSG, words)
        if not result.passed:
            return _refused(message, COMMIT_MSG, result)
        return HookedMessage(_with_trailers(_read(path) or message, message))
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)


def _with_writable(context: RunContext, folder: Path) -> RunContext:
    rules = context.sandbox.rules
    rules = replace(rules, writable=(*rules.writable, str(folder)))
    return replace(context, sandbox=replace(context.sandbox, rules=rules))


async def _run(task: str, context: RunContext, name: str, words: list[str]) -> CheckResult:
    check = Check(command=shlex.join(words), owner=OF_GUARD)
    number = _NUMBER + (name == COMMIT_MSG)
    return await run_check(context, check, task=task, number=number, limit_seconds=context.settings.check_seconds)


def _refused(message: str, name: str, result: CheckResult) -> HookedMessage:
    hook = replace(result, command=f"git hook {name}")
    return HookedMessage(message, _refusal(name, result), hook)


def _refusal(name: str, result: CheckResult) -> str:
    end = "reached its time limit" if result.timed_out else f"failed, exit code {result.exit_code}"
    return f"the git hook {name} {end}\n{result.output[-OUTPUT_CHARACTERS:]}".rstrip()


def _read(path: Path) -> str | None:
    data = disk.read_if_exists(path, _LIMIT_BYTES) if path.is_file() and not path.is_symlink() else None
    return None if data is None else data.decode("utf-8", "replace")


def _with_trailers(edited: str, message: str) -> str:
    """Return the edited message, without comments, with those of Bridle's trailers that it lost."""
    lines = [line.rstrip() for line in edited.splitlines() if not line.startswith("#")]
    trailers = [line for line in message.rstrip().rpartition("\n\n")[2].splitlines() if line]
    others = "\n".join(line for line in lines if line not in trailers).rstrip()
    return f"{others}\n\n" + "\n".join(trailers) + "\n"
