"""The native hooks that are asked before something is done: `pre-branch` and `pre-commit`. They can refuse it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bridle.engine.hooks.run_hooks import HookResults
from bridle.errors import UsageError
from bridle.loop.checks.fixed_tree import work_tree
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot

PRE_BRANCH = "pre-branch"
PRE_COMMIT = "pre-commit"

# Of what a hook printed: it goes into the next prompt and into the receipt. The end says why.
SAID_CHARACTERS = 4000
# Names of files in a payload; a hook that must know more looks for itself.
FILES = 1000


async def before_branch(bench: RunContext, branch: str) -> None:
    """Ask before the run's branch is made; UsageError where a hook refuses it."""
    payload = {
        "branch": branch,
        "base": bench.base,
        "cameFrom": bench.came_from,
        "plan": bench.plan.title,
        "tasks": [task.title for task in bench.plan.tasks],
    }
    refused = await _ask(bench, PRE_BRANCH, payload, bench.progress_folder)
    if refused is not None:
        raise UsageError(f"the branch {branch} was not made: {refused}", remedy="Mend what it says; then resume.")


async def before_commit(args: Mapping[str, Any], bench: RunContext, branch: str, message: str) -> str | None:
    """Ask before a task's commit is made; gives why not. A hook may change files: checks then run once more."""
    if bench.hooks is None or not bench.hooks.scripts(PRE_COMMIT):
        return None
    changed = await snapshot.changes(bench.git, "HEAD", await work_tree(bench))
    payload = {
        "branch": branch,
        "task": args.get("task"),
        "iteration": args.get("iteration"),
        "verdict": args.get("verdict"),
        "costUsd": args.get("cost_usd"),
        "message": message,
        "files": [name.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for name in changed[:FILES]],
    }
    return await _ask(bench, PRE_COMMIT, payload, bench.folder)


async def _ask(bench: RunContext, hook_type: str, payload: Mapping[str, Any], folder: Path) -> str | None:
    """Run the hooks of a type in a folder; gives what those said that refused."""
    if bench.hooks is None:
        return None
    told = {"runId": bench.run, "folder": str(folder), **payload}
    fired = await bench.hooks.fire(hook_type, told, limit_seconds=bench.settings.check_seconds, cwd=folder)
    if fired.trust_warning is not None:
        bench.say(fired.trust_warning)
    return _refusal(fired, bench)


def _refusal(fired: HookResults, bench: RunContext) -> str | None:
    said = [
        f"the hook {one.script.path.name} ({fired.hook_type}) refused it"
        f" ({one.failure})\n{one.output[-SAID_CHARACTERS:]}".rstrip()
        for one in fired.results
        if not one.succeeded
    ]
    return bench.mask.apply("\n\n".join(said)) if said else None
