"""Executes `bridle.check`: runs checks on a known tree, and returns how each ended."""

from __future__ import annotations

from collections.abc import Sequence

from bridle.loop.checks import baseline_cache, bytecode
from bridle.loop.checks.between_checks import read_protected
from bridle.loop.checks.fixed_tree import CheckedTree, forget_interrupted
from bridle.loop.checks.fresh_checkout import changed_in, checkout
from bridle.loop.checks.no_tests import line_without_tests
from bridle.loop.checks.not_in_commit import not_in_commit
from bridle.loop.checks.run_check import run_check
from bridle.loop.checks.setup_commands import ensure_setup
from bridle.loop.checks.without_files import without_files
from bridle.loop.effect_results import CheckResult, ChecksResult, FileReport
from bridle.loop.effects import AFTER_WORK, BASELINE, BEFORE_WORK, Check, CheckArgs
from bridle.loop.performers.after_check import unchanged_by_checks, unchanged_repositories
from bridle.loop.performers.make_commit import say_failing_hook
from bridle.loop.protection import baseline
from bridle.loop.working_copy import known_files
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace import snapshot

CHECKOUT = "checkout"
# Names of files that a check has changed: enough to see which program writes them.
SHOWN_NAMES = 50
# Checks of a task alone; those of a merge run on work that has passed these.
_BY_ITSELF = (BEFORE_WORK, AFTER_WORK)


async def check(args: CheckArgs, context: RunContext) -> ChecksResult:
    """Run checks; `tree` is that of the commit that would hold the files they ran on.

    A second attempt after a crash starts with the files as they were before the first one.
    """
    owner = args.task or BASELINE
    async with unchanged_by_checks(context, is_known=known_files.take_over(context, args.kind)) as fixed:
        bytecode.remove_new(context)
        is_baseline = args.when == BASELINE
        passed_before = baseline_cache.read(context, fixed.work) if is_baseline else frozenset()
        checks = [check for check in args.checks if check.command not in passed_before]
        failed = await _set_up(context) if is_baseline and checks else None
        if failed is not None:
            results, changed = [failed], list[str]()
        elif context.settings.clean == CHECKOUT and checks:
            results, changed = await _in_checkout(context, fixed, checks, owner)
        else:
            results, changed = await run_checks(context, checks, task=owner), []
        if is_baseline:
            await say_failing_hook(context)
            results = _with_known(args.checks, results)
            baseline_cache.write(context, fixed.work, [result.command for result in results if result.passed])
    passed = bool(results) and all(result.passed for result in results)
    outside: list[str] = []
    if passed and context.settings.clean != CHECKOUT and args.when in _BY_ITSELF:
        outside = await _find_needed(args, context, fixed)
    if not fixed.changed and not fixed.reports:
        known_files.hand_over(context, args.kind)
    changed = [*fixed.changed, *changed]
    for name in changed[:SHOWN_NAMES]:
        context.say(f"{owner}: a check changed {name}; the change was reverted")
    if fixed.kept:
        context.say(f"{owner}: what was reverted is kept as {fixed.kept}")
    empty = _without_tests(results) if args.when not in (BASELINE, BEFORE_WORK) else []
    for report in empty:
        context.say(f"{owner}: `{report.path}`: {report.what}")
    for report in fixed.reports[:SHOWN_NAMES]:
        context.say(f"{owner}: after a check: {report.path}: {report.what}")
    return ChecksResult(
        tree=fixed.work,
        passed=passed,
        results=tuple(results),
        changed=tuple(changed[:SHOWN_NAMES]),
        changed_count=len(changed),
        outside=tuple(outside[:SHOWN_NAMES]),
        reported=(
            *(FileReport(one.path, f"during a check: {one.what}") for one in fixed.reports[:SHOWN_NAMES]),
            *empty,
        ),
    )


async def _set_up(context: RunContext) -> CheckResult | None:
    """Run the setup in the worktree of a run; of several workers each has prepared its own."""
    if context.repository is None:
        return None
    return await ensure_setup(context, await context.git.tree_of(context.base), task=BASELINE)


def _with_known(checks: Sequence[Check], results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results in the order of the checks, with those that have passed on the same files before."""
    ran = {result.command: result for result in results}
    others = [result for result in results if result.command not in {check.command for check in checks}]
    if others:  # a setup that failed
        return others
    passed = "[passed on the same files before]"
    return [
        ran.get(check.command) or CheckResult(command=check.command, owner=check.owner, output=passed)
        for check in checks
    ]


def _without_tests(results: Sequence[CheckResult]) -> list[FileReport]:
    """Report checks that passed although they ran no test; a user may have wanted that."""
    lines = [(result, line_without_tests(result.output)) for result in results if result.passed]
    return [FileReport(result.command, f"this check passed and ran no test: {line}") for result, line in lines if line]


async def _find_needed(args: CheckArgs, context: RunContext, tree: CheckedTree) -> list[str]:
    """Return what no commit contains and agents may have made or changed, if the checks fail without it."""
    earlier = await _earlier_content(args, context)
    async with not_in_commit(context, tree, args.outside, earlier) as files:
        if not files:
            return []
        names = [str(file) for file in files]
        async with unchanged_by_checks(context, is_known=True) as again:
            with without_files(context, files) as is_without:
                if not is_without:
                    return names
                context.say(f"{args.task}: running the checks again without {', '.join(names[:SHOWN_NAMES])}")
                results = await run_checks(context, args.checks, task=args.task)
    tree.reports += again.reports
    return [] if all(result.passed for result in results) else names


async def _earlier_content(args: CheckArgs, context: RunContext) -> dict[str, bytes]:
    """Return the user's own files among them, with their content before the task's first iteration."""
    first = await snapshot.find(context.git, args.snapshot) if args.outside and args.snapshot else None
    start = baseline.find(context)
    if first is None or start is None:
        return {}
    contents = {}
    for name in (name for name in args.outside if name in start.untracked or name in start.local):
        code, text = await context.git.run("cat-file", "blob", f"{first.commit}:{name}", accepts=(0, 128))
        if code == 0:
            contents[name] = text.encode("utf-8", "surrogateescape")
    return contents


def broke_worktree(args: CheckArgs, context: RunContext, error: Exception) -> ChecksResult:
    """Return the result of checks after which git cannot use the worktree any more; it is made again."""
    forget_interrupted(context)
    output = f"git cannot use the worktree after this check: {getattr(error, 'message', error)}"
    results = [
        CheckResult(command=check.command, owner=check.owner, exit_code=1, output=output) for check in args.checks
    ]
    return ChecksResult(results=tuple(results))


async def run_checks(context: RunContext, checks: Sequence[Check], *, task: str) -> list[CheckResult]:
    """Run all of them in turn, also after one has failed: the next prompt shows all failures."""
    limit = context.settings.check_seconds
    results = []
    for number, check in enumerate(checks, 1):
        protected = await read_protected(context, task) if number < len(checks) else None
        result = await run_check(context, check, task=task, number=number, limit_seconds=limit)
        results.append(result if protected is None else await protected.restore(context, result))
    return results


async def _in_checkout(
    context: RunContext, tree: CheckedTree, checks: Sequence[Check], task: str
) -> tuple[list[CheckResult], list[str]]:
    """Run checks in a fresh checkout; a setup that fails there counts as a failed check."""
    async with checkout(context, tree.work, task=task) as place:
        if place.failed is not None:
            return [place.failed], []
        async with unchanged_repositories(place.context) as reports:
            results = await run_checks(place.context, checks, task=task)
        tree.reports += reports
        return results, await changed_in(place, tree.work)
