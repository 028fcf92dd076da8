"""The verdict after an iteration: the checks decide whether to commit, to try again or to give up.

A part of the loop's process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from bridle.loop import effects
from bridle.loop.effect_results import CheckResult, ChecksResult, CommitResult, ProtectResult, WorkResult
from bridle.loop.process import decisions
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.merge_queue import MergeQueue, Rejected
from bridle.loop.process.required_checks import RequiredChecks
from bridle.loop.process.task_state import CHECKS_PASSED, VERIFIED, RunState, TaskState, Usage, Verdict
from bridle.loop.process.workers import Workers

# A formatting hook changes the files once; one that changes them each time would never end.
COMMIT_ROUNDS = 3
# The most files that a reason names.
SHOWN_NAMES = 50
CHANGED_NOTHING = "the agent changed nothing"


class Verdicts:
    """Decides the verdict of a task after each iteration."""

    def __init__(
        self,
        state: RunState,
        workers: Workers,
        requests: EffectRequests,
        checks: RequiredChecks,
        merge_queue: MergeQueue,
        *,
        tries: Callable[[], int],
        stuck_after: int,
        has_current_decisions: bool,
    ) -> None:
        self._state, self._workers, self._requests = state, workers, requests
        self._checks, self._merge_queue = checks, merge_queue
        self._tries = tries
        """How many tries a task has; the user can change that while the run works."""
        self._stuck_after, self._has_current_decisions = stuck_after, has_current_decisions

    async def judge(self, task: TaskState, work: WorkResult) -> None:
        """Run the checks on what an agent left that ended by itself, and decide."""
        if not work.changed and not work.done and not self._has_newer_files(task):
            await self._not_done(task, f"{CHANGED_NOTHING}{_describe_end(work)}{_denied(work)}", tree=work.tree or "")
            return
        protected = await self._requests.protect(task, work)
        if work.conflicts:
            named = _listed(work.conflicts)
            task.notes.append(f"You left conflict markers in {named}: write what these files must contain.")
            await self._not_done(task, f"the agent left merge conflicts in {named}", tree=protected.tree or "")
            return
        checks = self._checks.all(task)
        if not checks:
            await self._accept(task, Verdict.UNVERIFIED, f"the plan has no check for it{_describe_end(work)}")
            return
        outside = task.outside if protected.changed and self._has_current_decisions else []
        checked = await self._requests.check(task, effects.AFTER_WORK, checks, outside=outside)
        task.checks = checked.results
        if checked.passed:
            await self._passed(task, work, protected, checked)
        else:
            await self._checks_failed(task, work, protected, checked)

    def _has_newer_files(self, task: TaskState) -> bool:
        """Return whether others changed the copy of the task after its own checks ran: they may pass now."""
        has_checks = bool(self._checks.own(task)) and self._has_current_decisions
        return has_checks and task.checked_on != self._workers.base_commit(task)

    async def asked_again(self, task: TaskState, work: WorkResult) -> None:
        """Count a try: the agent asked although a policy had answered that it must decide."""
        await self._not_done(task, "the agent asks questions that no user answers", tree=work.tree or "")

    async def _passed(self, task: TaskState, work: WorkResult, protected: ProtectResult, checked: ChecksResult) -> None:
        end = _describe_end(work)
        outside = checked.outside or (() if protected.changed else tuple(task.outside))
        if outside:
            names = _listed(outside)
            task.notes.append(
                f"Your checks pass, but only with {names}, which no commit would contain."
                " Put it into files that git tracks, or into new ones that it does not ignore."
            )
            why = (
                f"its checks pass only with files that no commit contains ({names}); `git add` those that belong to it"
            )
            await self._not_done(task, f"{why}{end}", tree=checked.tree or "")
        elif self._checks.own(task):
            nothing = "" if work.changed or work.done else f"; {CHANGED_NOTHING}"
            await self._accept(task, Verdict.DONE, f"{CHECKS_PASSED}{nothing}{end}", tree=checked.tree)
        elif protected.changed:
            await self._accept(task, Verdict.GUARD_ONLY, f"the guard passed{end}", tree=checked.tree)
        else:
            why = f"the guard passes, but {CHANGED_NOTHING}{end}{_denied(work)}"
            await self._not_done(task, why, tree=checked.tree or "")

    async def _checks_failed(
        self, task: TaskState, work: WorkResult, protected: ProtectResult, checked: ChecksResult
    ) -> None:
        """Keep the work for the next try, unless it broke the checks of another task."""
        broken = ", ".join(decisions.broken_tasks(checked.results))
        if broken:
            kept = await self._requests.roll_back(task, work.snapshot, f"it broke the checks of {broken}")
            task.notes.append(f"Your change was reverted: it broke the checks of {broken}.{_kept(kept)}")
        task.failure = decisions.failure_text(checked.results)
        why = f"{_describe_failures(checked.results)}{_describe_end(work)}{_denied(work)}"
        undone = [report.path for report in protected.undone if "`May edit:`" in report.what]
        if tracked := [path for path in dict.fromkeys(undone) if path not in protected.untracked]:
            why += f"; changes of {_listed(tracked)} were undone: if this task must change it, add the line"
            why += f" `May edit: {tracked[0]}` to the task in the plan"
        if protected.untracked:
            names = ", ".join(protected.untracked)
            why += (
                f"; changes of {names} were reverted, which you had for yourself before: if this task must write it, "
            )
            why += "move it away or delete it, then run: bridle retry"
            task.notes.append(
                f"{names} belongs to the user and git does not track it: ask the user if you must change it."
            )
        await self._not_done(task, why, tree=checked.tree or "")

    async def _accept(self, task: TaskState, verdict: Verdict, reason: str, *, tree: str | None = None) -> None:
        """Commit the work, merge it where workers run in parallel, and set the verdict."""
        args = effects.CommitArgs(
            task=task.title,
            iteration=task.iterations,
            verdict=verdict,
            cost_usd=task.usage.total_cost_usd,
            known_cost_usd=task.usage.known_cost_usd if task.usage.unknown_costs else 0.0,
            checks=0 if verdict == Verdict.UNVERIFIED else len(task.checks),
            tree=tree,
            tip=self._workers.base_commit(task),
        )
        committed, args = await self._commit(task, args)
        if committed is None:
            return
        commit = committed.commit
        if self._workers.is_parallel:
            landed = await self._merge_queue.submit(
                task, committed, args, lambda: self._checks.all(task, everything=True)
            )
            if isinstance(landed, Rejected):
                await self._merge_rejected(task, landed)
                return
            commit, task.checks = landed.commit, landed.results or task.checks
        elif commit:
            # The user may have added commits to one that an interrupted attempt had made.
            self._workers.tip = (committed.head if committed.found else None) or commit
        task.verdict, task.reason, task.commit = verdict, reason, commit
        task.verified = task.last if verdict in VERIFIED else Usage()
        task.failure, task.notes = "", []
        for other in self._state.tasks.values():
            if other is not task:
                other.first_snapshot = None  # restoring it would undo this commit

    async def _commit(
        self, task: TaskState, args: effects.CommitArgs
    ) -> tuple[CommitResult | None, effects.CommitArgs]:
        """Commit exactly the files that the checks ran on; return the result, or None, and the last arguments."""
        for number in range(COMMIT_ROUNDS + 1):
            # Another program that changes the files all the time would keep the task from being done forever.
            args = msgspec.structs.replace(args, as_checked=number == COMMIT_ROUNDS and args.tree is not None)
            committed = await self._requests.for_task(task, args, f"{task.title}: commit")
            task.folded += committed.folded
            task.report(committed.reported)
            if committed.refused:
                task.failure = committed.refused
                task.checks += (committed.hook,) if committed.hook is not None else ()
                why = next(iter(task.failure.splitlines()), "a hook refused it")
                await self._not_done(task, f"commit refused: {why}", tree=args.tree or "")
                return None, args
            if not committed.again:
                return committed, args
            checked = await self._requests.check(task, effects.BEFORE_COMMIT, self._checks.all(task))
            task.checks, args = checked.results, msgspec.structs.replace(args, tree=checked.tree)
            if not checked.passed:
                task.failure = decisions.failure_text(checked.results)
                why = "checks failed after a hook or another program changed the files before the commit"
                await self._not_done(task, why, tree=checked.tree or "")
                return None, args
        await self._not_done(task, "a hook or another program changes the files before every commit", tree="")
        return None, args

    async def _merge_rejected(self, task: TaskState, rejected: Rejected) -> None:
        """Count a try: the task passed by itself, but not together with what has landed since."""
        task.checks = rejected.results or task.checks
        task.failure = rejected.failure
        if rejected.note:
            task.notes.append(rejected.note)
        await self._not_done(task, rejected.reason, tree=rejected.tree)

    async def _not_done(self, task: TaskState, reason: str, *, tree: str) -> None:
        """Count a try that left the task not done, and give up where it was the last or the agent is stuck."""
        task.tries += 1
        task.reason = reason
        task.signatures.append(decisions.signature(task.checks, tree))
        if decisions.is_stuck(task.signatures, after=self._stuck_after):
            task.verdict = Verdict.STUCK
            task.reason = f"the same failure {self._stuck_after} times without a new change: {reason}"
        elif task.tries >= self._tries():
            task.verdict = Verdict.FAILED
            tries = "its only try" if task.tries == 1 else f"{task.tries} tries"
            task.reason = f"failed after {tries}: {reason}"
        else:
            return
        await self._requests.undo_work(task)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def _kept(ref: str) -> str:
    return f" It is kept as {ref}." if ref else ""


def _describe_end(work: WorkResult) -> str:
    """Return what was wrong with the agent's end besides its work, as the end of a reason."""
    message = " ".join(work.message.split())
    if work.failed:
        message = f"the agent failed: {message}"
    return f"; {message}" if message else ""


def _denied(work: WorkResult) -> str:
    """Return which tool calls were refused, as the end of the reason of a task that is not done."""
    return f"; denied: {', '.join(work.denials)}" if work.denials else ""


def _describe_failures(results: tuple[CheckResult, ...]) -> str:
    failing = [result.command for result in results if not result.passed]
    return f"{len(failing)} of {len(results)} checks failed: {'; '.join(failing)}"
