"""What an iteration came to: checks decide, a commit is made, or there is another try. A part of the loop's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bridle.loop import effects
from bridle.loop.process import decisions
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.merge_queue import MergeQueue, Rejected
from bridle.loop.process.receipt import VERIFIED
from bridle.loop.process.required_checks import Declared
from bridle.loop.process.task_state import DONE, FAILED, GUARD_ONLY, STUCK, UNVERIFIED, RunState, TaskState
from bridle.loop.process.workers import Workers

# A hook that formats what is committed does so once; one that changes it each time never comes to an end.
COMMIT_ROUNDS = 3


class Verdicts:
    """Gives tasks their verdicts."""

    def __init__(
        self,
        ledger: RunState,
        crew: Workers,
        steps: EffectRequests,
        declared: Declared,
        landing: MergeQueue,
        *,
        tries: Callable[[], int],
        stuck_after: int,
    ) -> None:
        self._ledger, self._crew, self._steps = ledger, crew, steps
        self._declared, self._landing = declared, landing
        self._tries = tries
        """How many a task has; a person can change it meanwhile."""
        self._stuck_after = stuck_after

    async def judge(self, task: TaskState, work: dict[str, Any]) -> None:
        """The agent has ended by itself: look at what it left, and let the checks decide."""
        if not work.get("changed") and not work.get("done"):
            why = f" and said: {work['said']}" if work.get("said") else ""
            await self._not_done(task, f"the agent changed nothing{why}", tree=str(work.get("tree") or ""))
            return
        kept = await self._steps.protect(task, work)
        checks = self._declared.all(task)
        if not checks:
            await self._settle(task, UNVERIFIED, "the plan declares no check for it")
            return
        looked = await self._steps.check(task, "after", checks)
        task.checks = looked["results"]
        if looked["passed"]:
            await self._passed(task, kept, looked)
        else:
            await self._red(task, work, looked)

    async def _passed(self, task: TaskState, kept: dict[str, Any], looked: dict[str, Any]) -> None:
        if self._declared.own(task):
            await self._settle(task, DONE, "its checks passed", tree=looked["tree"])
        elif kept.get("changed"):
            await self._settle(task, GUARD_ONLY, "the guard passed", tree=looked["tree"])
        else:
            await self._not_done(task, "the guard passes, but nothing was changed", tree=looked["tree"])

    async def _red(self, task: TaskState, work: dict[str, Any], looked: dict[str, Any]) -> None:
        """Checks failed: the work stays for the next try, unless it broke what another task had done."""
        broken = decisions.broken_tasks(looked["results"])
        if broken:
            await self._steps.roll_back(task, work.get("snapshot"), f"it broke the checks of {', '.join(broken)}")
            task.notes.append(f"Your change was taken back: it broke the checks of {', '.join(broken)}.")
        task.failure = decisions.failure_text(looked["results"])
        await self._not_done(task, _why(looked["results"]), tree=looked["tree"])

    async def _settle(self, task: TaskState, verdict: str, reason: str, *, tree: str | None = None) -> None:
        """Commit, and give the verdict; checks that did not run on the committed tree run again."""
        args = {
            "task": task.title,
            "iteration": task.iterations,
            "verdict": verdict,
            "cost_usd": round(task.spent.cost_usd, 6),
            "checks": 0 if verdict == UNVERIFIED else len(task.checks),
            "tree": tree,
            "tip": self._crew.ground(task),
        }
        made = await self._committed(task, args)
        if made is None:
            return
        commit = made.get("commit")
        if self._crew.is_parallel:
            landed = await self._landing.hand_in(task, made, args, lambda: self._declared.all(task, everything=True))
            if isinstance(landed, Rejected):
                await self._handed_back(task, landed)
                return
            commit, task.checks = landed.commit, landed.results or task.checks
        elif commit:
            self._crew.tip = commit
        task.verdict, task.reason, task.commit = verdict, reason, commit
        task.verified_usd = task.last_cost_usd if verdict in VERIFIED else 0.0
        task.failure, task.notes = "", []
        for other in self._ledger.tasks.values():
            if other is not task:
                other.first_snapshot = None  # going back to it would take this commit away

    async def _committed(self, task: TaskState, args: dict[str, Any]) -> dict[str, Any] | None:
        """The commit of exactly those files that the checks have seen; None where there is none."""
        for _ in range(COMMIT_ROUNDS):
            made = await self._steps.ask(task, effects.COMMIT, args, f"{task.title}: commit")
            task.folded += made.get("folded") or []
            if made.get("refused"):
                task.failure = str(made["refused"])
                why = next(iter(task.failure.splitlines()), "a hook refused it")
                await self._not_done(task, f"its commit was not made: {why}", tree=str(args["tree"] or ""))
                return None
            if not made.get("again"):
                return made
            looked = await self._steps.check(task, "commit", self._declared.all(task))
            task.checks, args["tree"] = looked["results"], looked["tree"]
            if not looked["passed"]:
                task.failure = decisions.failure_text(looked["results"])
                why = "its checks fail on what a hook, or somebody else, has made of its files before the commit"
                await self._not_done(task, why, tree=looked["tree"])
                return None
        await self._not_done(task, "its files are changed by something each time before they are committed", tree="")
        return None

    async def _handed_back(self, task: TaskState, why: Rejected) -> None:
        """It passed by itself, but not together with what others have done meanwhile: a try, and a part of the task."""
        task.checks = why.results or task.checks
        task.failure = why.failure
        if why.note:
            task.notes.append(why.note)
        await self._not_done(task, why.reason, tree=why.tree)

    async def _not_done(self, task: TaskState, reason: str, *, tree: str) -> None:
        """A try that left the task not done: another one, or the end of it."""
        task.tries += 1
        task.reason = reason
        task.signatures.append(decisions.signature(task.checks, tree))
        await self._after_try(task)

    async def _after_try(self, task: TaskState) -> None:
        """Whether there is another try."""
        if decisions.is_stuck(task.signatures, after=self._stuck_after):
            task.verdict = STUCK
            task.reason = f"{self._stuck_after} times the same failure, and no new change: {task.reason}"
        elif task.tries >= self._tries():
            task.verdict = FAILED
            used = "its only try is" if task.tries == 1 else f"{task.tries} tries are"
            task.reason = f"{used} used up: {task.reason}"
        else:
            return
        await self._steps.roll_back(task, task.first_snapshot, task.reason)


def _why(results: list[dict[str, Any]]) -> str:
    failing = [str(one["command"]) for one in results if one.get("exit_code") != 0]
    return f"{len(failing)} of {len(results)} checks failed: {'; '.join(failing)}"
