"""Executes `bridle.check`: runs checks on a known tree, and returns how each ended."""

from __future__ import annotations

from collections.abc import Iterable

from bridle.loop.checks.fixed_tree import fixed_tree
from bridle.loop.checks.fresh_checkout import changed_in, checkout
from bridle.loop.checks.run_check import run_check
from bridle.loop.effect_results import CheckResult, ChecksResult
from bridle.loop.effects import Check, CheckArgs
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.run_context import RunContext

CHECKOUT = "checkout"
# Names of files that a check has changed: enough to see which program writes them.
SHOWN_NAMES = 50


async def check(args: CheckArgs, context: RunContext) -> ChecksResult:
    """Run checks; `tree` is that of the commit that would hold the files they ran on.

    A second attempt after a crash starts with the files as they were before the first one.
    """
    async with fixed_tree(context, is_known=known_files.take_over(context, args.kind)) as fixed:
        if context.settings.clean == CHECKOUT:
            results, changed = await _in_checkout(context, fixed.work, args.checks, args.task)
        else:
            results, changed = await run_checks(context, args.checks, task=args.task), []
    if not fixed.changed:
        known_files.hand_over(context, args.kind)
    changed = [*fixed.changed, *changed]
    for name in changed[:SHOWN_NAMES]:
        context.say(f"{args.task}: a check changed {name}; the change was reverted")
    return ChecksResult(
        tree=fixed.work,
        passed=bool(results) and all(result.passed for result in results),
        results=tuple(results),
        changed=tuple(changed[:SHOWN_NAMES]),
        changed_count=len(changed),
    )


async def run_checks(context: RunContext, checks: Iterable[Check], *, task: str) -> list[CheckResult]:
    """Run all of them in turn, also after one has failed: the next prompt shows all failures."""
    limit = context.settings.check_seconds
    return [
        await run_check(context, check, task=task, number=number, limit_seconds=limit)
        for number, check in enumerate(checks, 1)
    ]


async def _in_checkout(
    context: RunContext, tree: str, checks: Iterable[Check], task: str
) -> tuple[list[CheckResult], list[str]]:
    """Run checks in a fresh checkout; a setup that fails there counts as a failed check."""
    async with checkout(context, tree, task=task) as place:
        if place.failed is not None:
            return [place.failed], []
        results = await run_checks(place.context, checks, task=task)
        return results, await changed_in(place, tree)
