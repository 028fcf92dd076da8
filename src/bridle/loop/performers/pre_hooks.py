"""The native hooks `pre-branch` and `pre-commit`, which can refuse a branch or a commit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.engine.hooks.run_hooks import HookResults
from bridle.errors import UsageError
from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.effects import CommitArgs
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import gc_lock, snapshot

PRE_BRANCH = "pre-branch"
PRE_COMMIT = "pre-commit"

# How much of the end of a hook's output goes into the next prompt and the receipt.
OUTPUT_CHARACTERS = 4000
# How many file names a payload has at most; a hook that needs all of them asks git.
FILES = 1000


async def before_branch(context: RunContext, branch: str) -> None:
    """Run the hooks before the run's branch is made; raise UsageError where one refuses it."""
    payload = {
        "branch": branch,
        "base": context.base,
        "cameFrom": context.came_from,
        "plan": context.plan.title,
        "tasks": [task.title for task in context.plan.tasks],
    }
    refused = await _run(context, PRE_BRANCH, payload, context.progress_folder)
    if refused is not None:
        raise UsageError(f"the branch {branch} was not made: {refused}", remedy="Fix that, then run: bridle resume")


def has_commit_hooks(context: RunContext) -> bool:
    return context.hooks is not None and bool(context.hooks.scripts(PRE_COMMIT))


async def before_commit(args: CommitArgs, context: RunContext, branch: str, message: str) -> str | None:
    """Run the hooks before a task's commit is made; return the output of those that refused it.

    A hook may change files: the checks then run once more.
    """
    changed = await snapshot.changes(context.git, "HEAD", await work_tree(context))
    payload = {
        "branch": branch,
        "task": args.task,
        "iteration": args.iteration,
        "verdict": args.verdict,
        "costUsd": args.cost_usd,
        "message": message,
        "files": [name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in changed[:FILES]],
    }
    return await _run(context, PRE_COMMIT, payload, context.folder)


async def _run(context: RunContext, hook_type: str, payload: Mapping[str, Any], folder: Path) -> str | None:
    """Run the hooks of a type in a folder; return the output of those that failed."""
    if context.hooks is None:
        return None
    document = {"runId": context.run, "folder": str(folder), **payload}
    async with gc_lock.released():
        fired = await context.hooks.fire(hook_type, document, limit_seconds=context.settings.check_seconds, cwd=folder)
    if fired.trust_warning is not None:
        context.say(fired.trust_warning)
    return _refusal(fired, context)


def _refusal(fired: HookResults, context: RunContext) -> str | None:
    messages = [
        f"the hook {hook.script.path.name} ({fired.hook_type}) refused it"
        f" ({hook.failure})\n{hook.output[-OUTPUT_CHARACTERS:]}".rstrip()
        for hook in fired.results
        if not hook.succeeded
    ]
    return context.mask.apply("\n\n".join(messages)) if messages else None
