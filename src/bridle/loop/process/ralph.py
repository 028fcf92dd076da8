"""The loop as a process: which task, which step, which verdict. Everything that touches the world is an effect.

It runs on the engine: from the start, again and again, with the recorded results. So nothing here looks at a clock, a
file or an environment, and whatever happened can be decided again from the journal alone.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bridle.loop import effects
from bridle.loop.process import decisions
from bridle.loop.process.active_time import ActiveTime, TimedContext
from bridle.loop.process.agent_pool import AgentPool, lifted_at
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.merge_queue import MergeQueue, setup_failure
from bridle.loop.process.questions import Questions
from bridle.loop.process.receipt import receipt
from bridle.loop.process.required_checks import Declared
from bridle.loop.process.task_state import (
    ENDED,
    FAILED,
    GOOD,
    PENDING,
    SATISFIED,
    RunState,
    TaskState,
)
from bridle.loop.process.verdicts import Verdicts
from bridle.loop.process.workers import Workers
from bridle.loop.settings import limits
from bridle.loop.settings.model import Settings

# What of a failing check's output goes into the arguments of the next iteration; all of it is in its log.
FAILURE_CHARACTERS = 16_000


async def process(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Work on the tasks of a frozen plan until each has its verdict; gives the receipt."""
    return await Loop(inputs, ctx).run()


def output_identity(receipt: dict[str, Any]) -> dict[str, Any]:
    """Return the decisions in a receipt, which a replay compares; reasons and commands may be worded differently."""
    tasks = [
        {name: task.get(name) for name in ("title", "verdict", "iterations", "tries", "commit", "cost_usd")}
        | {"checks": [(check.get("command"), check.get("exit_code")) for check in task.get("checks") or ()]}
        for task in receipt.get("tasks") or ()
    ]
    whole = ("run", "plan", "branch", "verdict", "commits", "iterations", "cost_usd", "seconds", "limits")
    return {name: receipt.get(name) for name in whole} | {"tasks": tasks}


@dataclass(frozen=True)
class Paused:
    """Why nothing can be begun until a person has done something."""

    kind: str
    reason: str
    exit_code: int


class Loop:
    """One run of the loop, as far as it has come."""

    def __init__(self, inputs: dict[str, Any], ctx: Any) -> None:
        self._time = ActiveTime()
        self._ctx = TimedContext(ctx, self._time)
        self._inputs = inputs
        self._plan: dict[str, Any] = inputs["plan"]
        self._settings: dict[str, Any] = inputs["settings"]
        self._limits = Settings.from_json(self._settings).limits
        self._tasks = {task["title"]: task for task in self._plan["tasks"]}
        self.ledger = RunState(
            {
                title: TaskState(title, tuple(task.get("needs") or ()), int(task.get("priority") or 0))
                for title, task in self._tasks.items()
            }
        )
        self._roster = AgentPool(tuple(self._settings["agents"]))
        self._news_after = self._retried_after = 0
        self._crew = Workers(
            parallel=int(self._settings.get("parallel") or 1),
            has_worktree=bool(self._settings.get("worktree")),
            base=str(inputs.get("base") or ""),
        )
        self._steps = EffectRequests(self._ctx, self._crew, self._tasks)
        self._declared = Declared(self._plan, self.ledger, self._crew)
        self._landing = MergeQueue(self._crew, self._steps.ask, self._steps.ask_home)
        self._judge = Verdicts(
            self.ledger,
            self._crew,
            self._steps,
            self._declared,
            self._landing,
            tries=lambda: self._limits.tries,
            stuck_after=int(self._settings.get("stuck_after") or decisions.STUCK_AFTER),
        )
        self._questions = Questions(self._ctx, self.ledger)
        self._standstill: Paused | None = None

    async def run(self) -> dict[str, Any]:
        """From the first task to the last verdict."""
        await self._prepare()
        while True:
            decisions.block(self.ledger)
            self._questions.hear()
            reason = self._begin()
            if self._crew.at_work:
                await self._something_ends()
            elif self._standstill is not None:
                await self._stand_still(self._standstill)
            elif reason is not None:
                await self._pause(effects.WHY_LIMIT, reason, exit_code=3)
            elif self._questions.waiting:
                await asyncio.wait(self._questions.waiting.values(), return_when=asyncio.FIRST_COMPLETED)
            elif all(book.verdict in GOOD for book in self.ledger.tasks.values()):
                return self.receipt()
            else:
                await self._pause(effects.WHY_ENDED, "not every task ended well", exit_code=1)

    async def _prepare(self) -> None:
        while True:
            prepared = await self._steps.prepare()
            if not prepared.get("setup"):
                return
            await self._pause(effects.WHY_SETUP, setup_failure(prepared["setup"]), exit_code=1)

    def _begin(self) -> str | None:
        """Begin what can be begun, in every place that is free; gives the limit that stands in the way."""
        for slot in self._crew.slots:
            task = self._crew.next_task(slot, self.ledger) if slot.chain is None else None
            if task is None or self._standstill is not None:
                continue
            under_way = len(self._crew.at_work)
            reason = limits.reached(self._limits, self.ledger, elapsed_seconds=self._time.seconds, under_way=under_way)
            if reason is not None:
                return reason
            self._crew.begin(slot, task)
            slot.chain = asyncio.create_task(self._one(task))
        return None

    async def _something_ends(self) -> None:
        """Wait for the end of a step anywhere, or for a person's answer."""
        chains = [slot.chain for slot in self._crew.at_work if slot.chain is not None]
        await asyncio.wait([*chains, *self._questions.waiting.values()], return_when=asyncio.FIRST_COMPLETED)
        for chain in self._crew.ended():
            chain.result()  # an error of one is the end of all

    async def _stand_still(self, why: Paused) -> None:
        """Everything has come to its end, and nothing can be begun until a person has mended it."""
        await self._pause(why.kind, why.reason, exit_code=why.exit_code)
        self._standstill = None
        self._roster.unusable.clear()
        if why.kind == effects.WHY_USAGE:  # whoever goes on before the limit is lifted may know more than we
            self._roster.limited.clear()

    async def _one(self, task: TaskState) -> None:
        """One step for one task: a look at its checks, or an iteration."""
        if self._crew.is_parallel:
            failed = await self._landing.take(task)
            if failed is not None:
                self._standstill = Paused(effects.WHY_SETUP, failed, 1)
                return
        if not await self._was_satisfied(task):
            agent = self._roster.free(self._ctx.now)
            if agent is not None:
                await self._iterate(task, agent)
            else:
                await self._wait_for_an_agent(task)
        if task.verdict in ENDED:
            self._crew.let_go(task)

    async def _was_satisfied(self, task: TaskState) -> bool:
        """Whether there was nothing to do for it; looked at once, before any work."""
        if task.was_looked_at:
            return False
        task.was_looked_at = True
        return bool(self._declared.own(task)) and await self._is_satisfied(task)

    async def _is_satisfied(self, task: TaskState) -> bool:
        """Look at a task's own checks before any work; with `red_first` a green one is a fault of the plan."""
        looked = await self._steps.check(task, "before", self._declared.own(task))
        task.checks = looked["results"]  # an iteration without a change counts with these
        if not looked["passed"]:
            return False
        if self._crew.is_parallel and not await self._landing.is_newest(task):
            task.was_looked_at = False  # something has landed meanwhile: they are looked at again with that
            return True
        if self._settings.get("red_first"):
            task.verdict, task.reason = FAILED, "its own check passes before any work, and --red-first forbids that"
        else:
            task.verdict, task.reason = SATISFIED, "its own checks passed before any work"
        return True

    async def _iterate(self, task: TaskState, agent: str) -> None:
        """One fresh agent, and what came of it."""
        self.ledger.iterations += 1
        task.iterations += 1
        number = self.ledger.iterations
        work = await self._work(task, agent)
        if work.get("ending") != effects.OK and work.get("changed"):
            await self._steps.protect(task, work)  # what it did to the person's files is undone however it ended
        match work.get("ending"):
            case effects.LIMIT:
                self._roster.limited[agent] = lifted_at(work.get("resets_at"), self._ctx.now())
            case effects.TRANSIENT:
                await self._overloaded(task)
            case effects.UNUSABLE:
                self._roster.unusable[agent] = task.reason = str(work.get("said") or f"{agent} cannot be used")
            case effects.BUDGET:
                self._standstill = Paused(effects.WHY_BUDGET, str(work.get("said") or "the budget is spent"), 3)
            case effects.CRASHED:
                await self._crashed(task, work)
            case effects.QUESTION:
                if self._crew.is_parallel:
                    await self._landing.keep(task)
                self._questions.park(task, work, agent)
                await self._set_aside(task, work)
            case _:
                task.crashes = task.waits = 0
                await self._judge.judge(task, work)
        if number % int(self._settings.get("summarize_every") or 10) == 0:
            await self._summarize(number)

    async def _summarize(self, number: int) -> None:
        """Fold old progress; where no agent is free it waits for the next time."""
        agent = self._roster.free(self._ctx.now)
        if agent is not None:
            args = {"iteration": number, "agent": agent}
            self.ledger.aside.add(await self._steps.ask_home(effects.SUMMARIZE, args, None))

    async def _work(self, task: TaskState, agent: str) -> dict[str, Any]:
        args: dict[str, Any] = {
            "task": task.title,
            "iteration": task.iterations,
            "agent": agent,
            "failure": task.failure[-FAILURE_CHARACTERS:],
            "notes": task.notes,
            "answer": task.answer,
            "asked": task.asked if task.answer is not None else None,
            "session_id": task.session_id if task.answer is not None and task.session_agent == agent else None,
            "after": self._news_after,
        }
        if self.ledger.hints:  # heard while the run paused
            args["hints"], self.ledger.hints = self.ledger.hints, []
        work = await self._steps.ask(task, effects.WORK, args, effects.work_label(args))
        task.spent.add(work)
        task.last_cost_usd = float(work.get("cost_usd") or 0.0)
        self.ledger.iteration_costs.append(task.last_cost_usd)
        task.first_snapshot = task.first_snapshot or work.get("snapshot")
        task.cut += [{"iteration": task.iterations, **one} for one in work.get("cut") or ()]
        refused = [str(denial) for denial in work.get("denials") or ()]
        task.denials += [one for one in refused if one not in task.denials]
        was_heard = work.get("ending") in effects.HEARD
        task.notes = [*([] if was_heard else task.notes), *(f"A tool call was refused: {one}" for one in refused)]
        if work.get("left_branch"):
            task.notes.append("The branch was changed, and changed back: stay on the one that is checked out.")
        if work.get("repository"):
            paths = ", ".join(str(one["path"]) for one in work["repository"])
            task.notes.append(f"Leave git's own things alone ({paths}): the harness makes branches and commits.")
            task.report(work["repository"])
        if was_heard:
            task.answer = None
        else:  # what it was told is told to the next one
            said = work.get("news") or {}
            self.ledger.hints += [*(args.get("hints") or ()), *(said.get("hints") or ())]
        self._take_news(work.get("news") or {})
        return work

    # Endings that are nobody's failure

    async def _wait_for_an_agent(self, task: TaskState) -> None:
        """Nobody is free: wait for the first limit that is lifted, or for a person where only one can help."""
        until = self._roster.next_reset()
        if until is None:
            said = "; ".join(dict.fromkeys(self._roster.unusable.values()))
            self._standstill = Paused(effects.WHY_UNUSABLE, f"no agent of the list can be used: {said}", 5)
            return
        wait, left = (until - self._ctx.now()).total_seconds(), self._limits.max_seconds - self._time.seconds
        if wait > left:  # to sit there until the time is over would help nobody
            reason = limits.too_late(until, wait_seconds=wait, left_seconds=left)
            self._standstill = Paused(effects.WHY_USAGE, reason, 3)
            return
        task.reason = f"waiting for a usage limit until {until.isoformat()}"
        await self._ctx.sleep_until(until, label=f"usage limit: {task.title}")
        self._roster.lift(until)

    async def _overloaded(self, task: TaskState) -> None:
        wait = decisions.backoff_seconds(task.waits)
        task.waits += 1
        await self._ctx.sleep_until(self._ctx.now() + timedelta(seconds=wait), label=f"overloaded: {task.title}")

    async def _crashed(self, task: TaskState, work: dict[str, Any]) -> None:
        task.crashes += 1
        if task.crashes < decisions.CRASHES:
            return
        task.verdict = FAILED
        task.reason = f"the agent died {task.crashes} times in a row: {work.get('said') or 'without a word'}"
        await self._steps.roll_back(task, task.first_snapshot, task.reason)

    async def _set_aside(self, task: TaskState, work: dict[str, Any]) -> None:
        """Take the work of a task that waits out of the way of others: it must not become a part of their commits."""
        has_work = bool(work.get("changed")) or task.tries > 0
        is_asked = self._settings.get("breakpoints", "ask") == "ask"  # else a policy answers before anybody goes on
        if self._crew.is_parallel or not has_work or not is_asked or decisions.next_task(self.ledger) is None:
            return
        kept = await self._steps.roll_back(task, task.first_snapshot, "its agent asks, and other tasks go on meanwhile")
        task.notes.append(
            f"Your work so far was set aside while your question waited. It is the tree of {kept}:"
            f" `git diff HEAD {kept}` shows it, `git checkout {kept} -- <files>` brings it back."
        )

    async def _pause(self, why: str, reason: str, *, exit_code: int) -> None:
        """Wait for `resume` or `retry`: with other limits, or with a task to try again."""
        args = {
            "why": why,
            "reason": reason,
            "exit_code": exit_code,
            "receipt": self.receipt(),
            "after": self._news_after,
        }
        self._take_news(await self._steps.pause(args))

    def _take_news(self, news: dict[str, Any]) -> None:
        """What the person said meanwhile."""
        self._news_after = max(self._news_after, int(news.get("after") or 0))
        self._limits = self._limits.changed(news.get("limits") or {})
        self.ledger.hints += news.get("kept_hints") or []
        for title in self._unheard(news):
            task = self.ledger.tasks.get(title)
            if task is not None and task.verdict not in GOOD:
                task.verdict, task.reason, task.tries, task.crashes = PENDING, "", 0, 0
                task.signatures.clear()
                decisions.unblock(self.ledger)

    def _unheard(self, news: dict[str, Any]) -> list[str]:
        """The tasks to try again of which no other worker has told already."""
        titles = list(news.get("retries") or ())
        places = list(news.get("retries_at") or ()) or [self._retried_after + 1] * len(titles)
        new = [title for title, place in zip(titles, places, strict=True) if place > self._retried_after]
        if news.get("retries_at"):
            self._retried_after = max(self._retried_after, *places)
        return new

    def receipt(self) -> dict[str, Any]:
        """The run as it stands."""
        return receipt(self._inputs, self.ledger, self._limits, seconds=self._time.seconds, workers=self._crew.workers)
