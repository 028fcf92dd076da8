"""Executes `bridle.commit`: one commit for a task. A second attempt finds the commit of the first one.

Git's own hooks `pre-commit` and `commit-msg` of the user's repository are one more check before it. Only a hook that is
as it was when the run began runs, in the sandbox of checks. What it changes in the files is reverted, as after a check,
and so is what it stages: the commit is the tree that was checked. Its output is in the next prompt.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from bridle.ground import disk
from bridle.loop.checks.fixed_tree import stage_work
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
    make_plain,
    recent_commits,
    say_all,
)
from bridle.loop.working_copy import kept_index, known_files, recorded_hooks
from bridle.loop.working_copy.fill_submodules import keep_submodule_commits
from bridle.loop.working_copy.recorded_hooks import COMMIT_MSG, PRE_COMMIT
from bridle.loop.working_copy.refs import run_branch
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import files_index
from bridle.workspace.commit import commit_index, first_parents, is_ancestor
from bridle.workspace.git import Git
from bridle.workspace.repair.forged_objects import refuse_forged

# In a folder of its own: in the sandbox of the hook it is the only part of `.ralph` that can be written.
MESSAGE_FILE = ".ralph/commit-message/COMMIT_EDITMSG"
# How much of the end of a hook's output goes into the next prompt and the receipt.
OUTPUT_CHARACTERS = 4000
# The logs of hooks have numbers after those of checks.
_NUMBER = 900
_LIMIT_BYTES = 8 * 1024 * 1024
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
    if args.tree not in (None, staged.tree):
        return CommitResult(again=staged.tree)  # the checks ran on other files
    hooked = await _run_hooks(args, context, message)
    if hooked.refused is not None:
        return CommitResult(refused=hooked.refused, hook=hooked.hook, reported=hooked.reported)
    folded = await _fold_agent_commits(git, context, args.tip)
    await refuse_forged(git, staged.tree, await git.head())
    await keep_submodule_commits(context, staged.tree)
    commit = await commit_index(git, hooked.message, tree=staged.tree, is_refreshed=staged.is_refreshed)
    await files_index.accept_real_index(git, staged.tree)
    known_files.hand_over(context, args.kind)
    head = commit or await git.head()  # nothing has changed since the last commit, which the verdict is about
    tree = await git.tree_of(head) if head else None
    return CommitResult(commit=commit, head=head, tree=tree, folded=tuple(folded), reported=hooked.reported)


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
        if await git.head() == tip:
            return []
        above = (await git.text("rev-list", "--first-parent", f"{tip}..HEAD")).split()
        await git.run("reset", "--quiet", "--soft", tip)
        return above
    folded: list[str] = []
    for commit in first_parents(await recent_commits(git, context)):
        if commit.trailers.get(RUN) == context.run:
            break
        folded.append(commit.commit)
    if folded:
        await git.run("reset", "--quiet", "--soft", f"{folded[-1]}^")
    return folded


async def say_failing_hook(context: RunContext) -> None:
    """Print a warning if the hook `pre-commit` fails before any work: it may refuse each commit of the run."""
    hooks = await recorded_hooks.find_unchanged(context) if context.settings.git_hooks == recorded_hooks.RUN else {}
    if PRE_COMMIT not in hooks:
        return
    index = await kept_index.read(context.git)
    result = await _run(BASELINE, context, PRE_COMMIT, [str(hooks[PRE_COMMIT])])
    await kept_index.restore(context.folder, index)
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
        index = await kept_index.read(context.git)
        hooked = await _run_all(args, context, message, hooks)
        left = await kept_index.restore(context.folder, index)
    staged = await kept_index.changed_names(context.git, index, left)
    changed = list(dict.fromkeys([*fixed.changed, *staged]))[:SHOWN_NAMES]
    for name in changed:
        context.say(f"{args.task}: a git hook changed {name}; the change was reverted")
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
