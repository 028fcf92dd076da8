"""The performer of `bridle.check`: runs a task's checks on a tree that is known, and tells how each ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from bridle.errors import InternalError
from bridle.loop.checks.fixed_tree import fixed_tree
from bridle.loop.checks.fresh_checkout import changed_in, checkout
from bridle.loop.checks.run_check import Check, Result, run_check
from bridle.loop.working_copy.run_context import RunContext

CHECKOUT = "checkout"
# Names of files that a check has changed: enough to see what it is that writes.
SHOWN_NAMES = 50


async def check(args: Mapping[str, Any], bench: RunContext) -> dict[str, Any]:
    """Run the checks of an effect; `tree` is that of the commit that holds what they ran on.

    Done again after a crash, it begins with the files as they were before the first time.
    """
    listed, task = read_checks(args["checks"]), str(args["task"])
    async with fixed_tree(bench) as standing:
        if bench.settings.clean == CHECKOUT:
            results, changed = await _in_checkout(bench, standing.work, listed, task)
        else:
            results, changed = await run_checks(bench, listed, task=task), []
    changed = [*standing.changed, *changed]
    for name in changed[:SHOWN_NAMES]:
        bench.say(f"{task}: a check changed {name}; that was taken back")
    return {
        "tree": standing.work,
        "passed": bool(results) and all(one.passed for one in results),
        "results": [one.as_json() for one in results],
        "changed": changed[:SHOWN_NAMES],
        "changed_count": len(changed),
    }


async def run_checks(bench: RunContext, checks: Iterable[Check], *, task: str) -> list[Result]:
    """Run all of them, one after the other, also when one fails: the next prompt is to know them all."""
    limit = bench.settings.check_seconds
    return [await run_check(bench, one, task=task, number=n, limit_seconds=limit) for n, one in enumerate(checks, 1)]


def read_checks(listed: Iterable[Mapping[str, Any]]) -> list[Check]:
    """The checks of an effect's arguments."""
    try:
        return [Check(str(one["command"]), str(one["of"])) for one in listed]
    except (KeyError, TypeError) as error:
        raise InternalError(f"an effect has a check without command or owner: {error!r}", payload=listed) from error


async def _in_checkout(bench: RunContext, tree: str, listed: list[Check], task: str) -> tuple[list[Result], list[str]]:
    """Run them in a fresh checkout; a setup that fails there is a check that failed."""
    async with checkout(bench, tree, task=task) as place:
        if place.failed is not None:
            return [place.failed], []
        results = await run_checks(place.context, listed, task=task)
        return results, await changed_in(place, tree)
