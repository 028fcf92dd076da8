"""The loop as a process: which task, which step, which verdict. Everything that touches the world is an effect.

It runs on the engine: from the start, again and again, with the recorded results. So nothing here looks at a clock, a
file or an environment, and whatever happened can be decided again from the journal alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bridle import define_task
from bridle.engine.inbox import ASKS_FOR, BY_POLICY, WORDS
from bridle.loop import decide, kinds, limits
from bridle.loop.crew import Crew
from bridle.loop.driven import DrivenTime, TimedContext
from bridle.loop.landing import HandedBack, Landing, setup_failure
from bridle.loop.ledger import (
    DONE,
    ENDED,
    FAILED,
    GOOD,
    GUARD_ONLY,
    NEEDS_YOU,
    PENDING,
    SATISFIED,
    STUCK,
    UNVERIFIED,
    Ledger,
    TaskBook,
)
from bridle.loop.receipt import VERIFIED, receipt
from bridle.loop.roster import Roster
from bridle.loop.settings import Settings

# What of a failing check's output goes into the arguments of the next iteration; all of it is in its log.
FAILURE_CHARACTERS = 16_000
# After the moment at which a limit is lifted; the endpoint's clock and ours are not the same.
AFTER_RESET_SECONDS = 10
# A hook that formats what is committed does so once; one that changes it each time never comes to an end.
COMMIT_ROUNDS = 3
# Of changes that were undone, those that the next prompt names one by one.
SHOWN_CHANGES = 50
# What an agent hears in the place of an answer where a policy answers questions.
NOBODY_ANSWERS = "Nobody is there to answer. Decide it yourself, and say in your summary what you assumed."
# After an answer that the limit stands though its reset is over: each time that it is asked costs an iteration.
SOONEST_RESET_SECONDS = 60
# Where nobody said when: as long as the shortest window of any account.
UNKNOWN_RESET_SECONDS = 30 * 60


def _effect(kind: str) -> Any:
    return define_task(kind, lambda args, _task: {"kind": kind, "title": _title(kind, args), "idempotent": True})


def _title(kind: str, args: dict[str, Any]) -> str:
    return " ".join(
        str(part) for part in (kind.removeprefix("bridle."), args.get("task"), args.get("iteration")) if part
    )


_EFFECTS = {kind: _effect(kind) for kind in (*kinds.PERFORMED, kinds.PAUSE)}


async def process(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Work on the tasks of a frozen plan until each has its verdict; gives the receipt."""
    return await Loop(inputs, ctx).run()


@dataclass(frozen=True)
class Standstill:
    """Why nothing can be begun until a person has done something."""

    kind: str
    reason: str
    exit_code: int


class Loop:
    """One run of the loop, as far as it has come."""

    def __init__(self, inputs: dict[str, Any], ctx: Any) -> None:
        self._time = DrivenTime()
        self._ctx = TimedContext(ctx, self._time)
        self._inputs = inputs
        self._plan: dict[str, Any] = inputs["plan"]
        self._settings: dict[str, Any] = inputs["settings"]
        self._limits = Settings.from_json(self._settings).limits
        self._tasks = {task["title"]: task for task in self._plan["tasks"]}
        self.ledger = Ledger(
            {
                title: TaskBook(title, tuple(task.get("needs") or ()), int(task.get("priority") or 0))
                for title, task in self._tasks.items()
            }
        )
        self._stuck_after = int(self._settings.get("stuck_after") or decide.STUCK_AFTER)
        self._roster = Roster(tuple(self._settings["agents"]))
        self._parked: dict[str, asyncio.Future[Any]] = {}
        self._news_after = self._retried_after = 0
        self._crew = Crew(
            parallel=int(self._settings.get("parallel") or 1),
            has_worktree=bool(self._settings.get("worktree")),
            base=str(inputs.get("base") or ""),
        )
        self._landing = Landing(self._crew, self._ask, self._ask_home)
        self._standstill: Standstill | None = None

    async def run(self) -> dict[str, Any]:
        """From the first task to the last verdict."""
        await self._prepare()
        while True:
            decide.block(self.ledger)
            await self._hear_answers()
            reason = self._begin()
            if self._crew.at_work:
                await self._something_ends()
            elif self._standstill is not None:
                await self._stand_still(self._standstill)
            elif reason is not None:
                await self._pause(kinds.WHY_LIMIT, reason, exit_code=3)
            elif self._parked:
                await asyncio.wait(self._parked.values(), return_when=asyncio.FIRST_COMPLETED)
            elif all(book.verdict in GOOD for book in self.ledger.tasks.values()):
                return self.receipt()
            else:
                await self._pause(kinds.WHY_ENDED, "not every task ended well", exit_code=1)

    async def _prepare(self) -> None:
        while True:
            prepared = await self._ctx.task(_EFFECTS[kinds.PREPARE], {}, label="prepare")
            if not prepared.get("setup"):
                return
            await self._pause(kinds.WHY_SETUP, setup_failure(prepared["setup"]), exit_code=1)

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
        await asyncio.wait([*chains, *self._parked.values()], return_when=asyncio.FIRST_COMPLETED)
        for chain in self._crew.ended():
            chain.result()  # an error of one is the end of all

    async def _stand_still(self, why: Standstill) -> None:
        """Everything has come to its end, and nothing can be begun until a person has mended it."""
        await self._pause(why.kind, why.reason, exit_code=why.exit_code)
        self._standstill = None
        self._roster.unusable.clear()

    async def _one(self, task: TaskBook) -> None:
        """One step for one task: a look at its checks, or an iteration."""
        if self._crew.is_parallel:
            failed = await self._landing.take(task)
            if failed is not None:
                self._standstill = Standstill(kinds.WHY_SETUP, failed, 1)
                return
        if not await self._was_satisfied(task):
            agent = self._roster.free(self._ctx.now)
            if agent is not None:
                await self._iterate(task, agent)
            else:
                await self._wait_for_an_agent(task)
        if task.verdict in ENDED:
            self._crew.let_go(task)

    async def _was_satisfied(self, task: TaskBook) -> bool:
        """Whether there was nothing to do for it; looked at once, before any work."""
        if task.was_looked_at:
            return False
        task.was_looked_at = True
        return bool(self._own_checks(task)) and await self._is_satisfied(task)

    async def _is_satisfied(self, task: TaskBook) -> bool:
        """Look at a task's own checks before any work; with `red_first` a green one is a fault of the plan."""
        looked = await self._check(task, "before", self._own_checks(task))
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

    async def _iterate(self, task: TaskBook, agent: str) -> None:
        """One fresh agent, and what came of it."""
        self.ledger.iterations += 1
        task.iterations += 1
        number = self.ledger.iterations
        work = await self._work(task, agent)
        if work.get("ending") != kinds.OK and work.get("changed"):
            await self._protect(task, work)  # what it did to the person's files is undone however it ended
        match work.get("ending"):
            case kinds.LIMIT:
                self._roster.limited[agent] = self._lifted_at(work)
            case kinds.TRANSIENT:
                await self._overloaded(task)
            case kinds.UNUSABLE:
                self._roster.unusable[agent] = task.reason = str(work.get("said") or f"{agent} cannot be used")
            case kinds.BUDGET:
                self._standstill = Standstill(kinds.WHY_BUDGET, str(work.get("said") or "the budget is spent"), 3)
            case kinds.CRASHED:
                await self._crashed(task, work)
            case kinds.QUESTION:
                if self._crew.is_parallel:
                    await self._landing.keep(task)
                self._park(task, work, agent)
                await self._set_aside(task, work)
            case _:
                task.crashes = task.waits = 0
                await self._judge(task, work)
        if number % int(self._settings.get("summarize_every") or 10) == 0:
            await self._summarize(number)

    async def _summarize(self, number: int) -> None:
        """Fold old progress; where no agent is free it waits for the next time."""
        agent = self._roster.free(self._ctx.now)
        if agent is not None:
            args = {"iteration": number, "agent": agent}
            self.ledger.aside.add(await self._ask_home(kinds.SUMMARIZE, args, None))

    async def _work(self, task: TaskBook, agent: str) -> dict[str, Any]:
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
        work = await self._ask(task, kinds.WORK, args, kinds.work_label(args))
        task.spent.add(work)
        task.last_cost_usd = float(work.get("cost_usd") or 0.0)
        self.ledger.iteration_costs.append(task.last_cost_usd)
        task.first_snapshot = task.first_snapshot or work.get("snapshot")
        task.cut += [{"iteration": task.iterations, **one} for one in work.get("cut") or ()]
        refused = [str(denial) for denial in work.get("denials") or ()]
        task.denials += [one for one in refused if one not in task.denials]
        was_heard = work.get("ending") in kinds.HEARD
        task.notes = [*([] if was_heard else task.notes), *(f"A tool call was refused: {one}" for one in refused)]
        if work.get("left_branch"):
            task.notes.append("The branch was changed, and changed back: stay on the one that is checked out.")
        if work.get("repository"):
            paths = ", ".join(str(one["path"]) for one in work["repository"])
            task.notes.append(f"Leave git's own things alone ({paths}): the harness makes branches and commits.")
            self._report(task, work["repository"])
        if was_heard:
            task.answer = None
        else:  # what it was told is told to the next one
            said = work.get("news") or {}
            self.ledger.hints += [*(args.get("hints") or ()), *(said.get("hints") or ())]
        self._take_news(work.get("news") or {})
        return work

    async def _judge(self, task: TaskBook, work: dict[str, Any]) -> None:
        """The agent has ended by itself: look at what it left, and let the checks decide."""
        if not work.get("changed") and not work.get("done"):
            why = f" and said: {work['said']}" if work.get("said") else ""
            await self._not_done(task, f"the agent changed nothing{why}", tree=str(work.get("tree") or ""))
            return
        kept = await self._protect(task, work)
        checks = self._all_checks(task)
        if not checks:
            await self._settle(task, UNVERIFIED, "the plan declares no check for it")
            return
        looked = await self._check(task, "after", checks)
        task.checks = looked["results"]
        if looked["passed"]:
            await self._passed(task, kept, looked)
        else:
            await self._red(task, work, looked)

    async def _passed(self, task: TaskBook, kept: dict[str, Any], looked: dict[str, Any]) -> None:
        if self._own_checks(task):
            await self._settle(task, DONE, "its checks passed", tree=looked["tree"])
        elif kept.get("changed"):
            await self._settle(task, GUARD_ONLY, "the guard passed", tree=looked["tree"])
        else:
            await self._not_done(task, "the guard passes, but nothing was changed", tree=looked["tree"])

    async def _red(self, task: TaskBook, work: dict[str, Any], looked: dict[str, Any]) -> None:
        """Checks failed: the work stays for the next try, unless it broke what another task had done."""
        broken = decide.broken_tasks(looked["results"])
        if broken:
            await self._roll_back(task, work.get("snapshot"), f"it broke the checks of {', '.join(broken)}")
            task.notes.append(f"Your change was taken back: it broke the checks of {', '.join(broken)}.")
        task.failure = decide.failure_text(looked["results"])
        await self._not_done(task, _why(looked["results"]), tree=looked["tree"])

    async def _settle(self, task: TaskBook, verdict: str, reason: str, *, tree: str | None = None) -> None:
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
            landed = await self._landing.hand_in(task, made, args, lambda: self._all_checks(task, everything=True))
            if isinstance(landed, HandedBack):
                await self._handed_back(task, landed)
                return
            commit, task.checks = landed.commit, landed.results or task.checks
        elif commit:
            self._crew.tip = commit
        task.verdict, task.reason, task.commit = verdict, reason, commit
        task.verified_usd = task.last_cost_usd if verdict in VERIFIED else 0.0
        task.failure, task.notes = "", []
        for other in self.ledger.tasks.values():
            if other is not task:
                other.first_snapshot = None  # going back to it would take this commit away

    async def _committed(self, task: TaskBook, args: dict[str, Any]) -> dict[str, Any] | None:
        """The commit of exactly those files that the checks have seen; None where there is none."""
        for _ in range(COMMIT_ROUNDS):
            made = await self._ask(task, kinds.COMMIT, args, f"{task.title}: commit")
            task.folded += made.get("folded") or []
            if made.get("refused"):
                task.failure = str(made["refused"])
                why = next(iter(task.failure.splitlines()), "a hook refused it")
                await self._not_done(task, f"its commit was not made: {why}", tree=str(args["tree"] or ""))
                return None
            if not made.get("again"):
                return made
            looked = await self._check(task, "commit", self._all_checks(task))
            task.checks, args["tree"] = looked["results"], looked["tree"]
            if not looked["passed"]:
                task.failure = decide.failure_text(looked["results"])
                why = "its checks fail on what a hook, or somebody else, has made of its files before the commit"
                await self._not_done(task, why, tree=looked["tree"])
                return None
        await self._not_done(task, "its files are changed by something each time before they are committed", tree="")
        return None

    async def _handed_back(self, task: TaskBook, why: HandedBack) -> None:
        """It passed by itself, but not together with what others have done meanwhile: a try, and a part of the task."""
        task.checks = why.results or task.checks
        task.failure = why.failure
        if why.note:
            task.notes.append(why.note)
        await self._not_done(task, why.reason, tree=why.tree)

    async def _not_done(self, task: TaskBook, reason: str, *, tree: str) -> None:
        """A try that left the task not done: another one, or the end of it."""
        task.tries += 1
        task.reason = reason
        task.signatures.append(decide.signature(task.checks, tree))
        await self._after_try(task)

    async def _after_try(self, task: TaskBook) -> None:
        """Whether there is another try."""
        if decide.is_stuck(task.signatures, after=self._stuck_after):
            task.verdict = STUCK
            task.reason = f"{self._stuck_after} times the same failure, and no new change: {task.reason}"
        elif task.tries >= self._limits.tries:
            task.verdict = FAILED
            used = "its only try is" if task.tries == 1 else f"{task.tries} tries are"
            task.reason = f"{used} used up: {task.reason}"
        else:
            return
        await self._roll_back(task, task.first_snapshot, task.reason)

    # Endings that are nobody's failure

    def _lifted_at(self, work: dict[str, Any]) -> datetime:
        """When an agent at its limit can be asked again."""
        now: datetime = self._ctx.now()
        resets_at = work.get("resets_at")
        if not isinstance(resets_at, str):
            return now + timedelta(seconds=UNKNOWN_RESET_SECONDS)
        lifted = datetime.fromisoformat(resets_at)
        if lifted > now:
            return lifted + timedelta(seconds=AFTER_RESET_SECONDS)
        return now + timedelta(seconds=SOONEST_RESET_SECONDS)

    async def _wait_for_an_agent(self, task: TaskBook) -> None:
        """Nobody is free: wait for the first limit that is lifted, or for a person where only one can help."""
        until = self._roster.next_reset()
        if until is None:
            said = "; ".join(dict.fromkeys(self._roster.unusable.values()))
            self._standstill = Standstill(kinds.WHY_UNUSABLE, f"no agent of the list can be used: {said}", 5)
            return
        task.reason = f"waiting for a usage limit until {until.isoformat()}"
        await self._ctx.sleep_until(until, label=f"usage limit: {task.title}")
        self._roster.lift(until)

    async def _overloaded(self, task: TaskBook) -> None:
        wait = decide.backoff_seconds(task.waits)
        task.waits += 1
        await self._ctx.sleep_until(self._ctx.now() + timedelta(seconds=wait), label=f"overloaded: {task.title}")

    async def _crashed(self, task: TaskBook, work: dict[str, Any]) -> None:
        task.crashes += 1
        if task.crashes < decide.CRASHES:
            return
        task.verdict = FAILED
        task.reason = f"the agent died {task.crashes} times in a row: {work.get('said') or 'without a word'}"
        await self._roll_back(task, task.first_snapshot, task.reason)

    # Questions

    def _park(self, task: TaskBook, work: dict[str, Any], agent: str) -> None:
        """The agent asked something: a person answers, and meanwhile the other tasks go on."""
        question = str(work.get("question") or work.get("said") or "the agent waits for an answer")
        task.verdict, task.question, task.session_id = NEEDS_YOU, question, work.get("session_id")
        task.session_agent, task.asked, task.reason = agent, question, "the agent asks"
        payload = {"question": question, "task": task.title, ASKS_FOR: WORDS}
        self._parked[task.title] = self._ctx.breakpoint(payload, label=f"needs-you: {task.title}")

    async def _set_aside(self, task: TaskBook, work: dict[str, Any]) -> None:
        """Take the work of a task that waits out of the way of others: it must not become a part of their commits."""
        has_work = bool(work.get("changed")) or task.tries > 0
        is_asked = self._settings.get("breakpoints", "ask") == "ask"  # else a policy answers before anybody goes on
        if self._crew.is_parallel or not has_work or not is_asked or decide.next_task(self.ledger) is None:
            return
        kept = await self._roll_back(task, task.first_snapshot, "its agent asks, and other tasks go on meanwhile")
        task.notes.append(
            f"Your work so far was set aside while your question waited. It is the tree of {kept}:"
            f" `git diff HEAD {kept}` shows it, `git checkout {kept} -- <files>` brings it back."
        )

    async def _hear_answers(self) -> None:
        for title, promise in list(self._parked.items()):
            if promise.done():
                del self._parked[title]
                answer = promise.result()
                task = self.ledger.tasks[title]
                words = answer.get("response") if isinstance(answer, dict) else answer
                if isinstance(answer, dict) and answer.get("respondedBy") == BY_POLICY:
                    words = NOBODY_ANSWERS
                task.verdict, task.question, task.answer = PENDING, None, str(words or "")

    # Steps

    async def _check(self, task: TaskBook, when: str, checks: list[dict[str, str]]) -> dict[str, Any]:
        args = {"task": task.title, "iteration": task.iterations, "when": when, "checks": checks}
        return await self._ask(task, kinds.CHECK, args, f"{task.title}: checks {when}")

    async def _protect(self, task: TaskBook, work: dict[str, Any]) -> dict[str, Any]:
        args = {
            "task": task.title,
            "iteration": task.iterations,
            "snapshot": work.get("snapshot"),
            "may_edit": list(self._tasks[task.title].get("may_edit") or ()),
            "tip": self._crew.ground(task),
        }
        kept = await self._ask(task, kinds.PROTECT, args, f"{task.title}: protect")
        undone = kept.get("undone") or ()
        task.undone += [str(one["path"]) for one in undone]
        task.notes += [f"Your change to {one['path']} was undone: {one['what']}." for one in undone[:SHOWN_CHANGES]]
        if len(undone) > SHOWN_CHANGES:
            task.notes.append(f"{len(undone) - SHOWN_CHANGES} more of your changes to protected files were undone.")
        self._report(task, kept.get("reported") or ())
        return kept

    def _report(self, task: TaskBook, listed: Sequence[dict[str, Any]]) -> None:
        """Tell a person, once."""
        for one in listed:
            told = {"path": str(one["path"]), "what": str(one["what"])}
            if told not in task.reported:
                task.reported.append(told)

    async def _roll_back(self, task: TaskBook, snapshot: Any, why: str) -> str:
        """Take a task's work back; gives the ref that keeps it."""
        if not snapshot:
            return ""
        args = {"task": task.title, "iteration": task.iterations, "snapshot": snapshot, "why": why}
        undone = await self._ask(task, kinds.ROLLBACK, args, f"{task.title}: roll back")
        return f"refs/bridle/snapshots/{undone.get('kept')}"

    async def _ask(self, task: TaskBook, kind: str, args: dict[str, Any], label: str) -> dict[str, Any]:
        """An effect for a task, in the working copy where it is worked on."""
        wanted = {**args, **self._crew.place(task)}
        value: dict[str, Any] = await self._ctx.task(_EFFECTS[kind], wanted, label=label)
        self._crew.saw(task, value)
        return value

    async def _ask_home(self, kind: str, args: dict[str, Any], label: str | None) -> dict[str, Any]:
        """An effect for the run as a whole, in its own working copy."""
        value: dict[str, Any] = await self._ctx.task(_EFFECTS[kind], {**args, **self._crew.home()}, label=label)
        return value

    async def _pause(self, why: str, reason: str, *, exit_code: int) -> None:
        """Wait for `resume` or `retry`: with other limits, or with a task to try again."""
        args = {
            "why": why,
            "reason": reason,
            "exit_code": exit_code,
            "receipt": self.receipt(),
            "after": self._news_after,
        }
        self._take_news(await self._ctx.task(_EFFECTS[kinds.PAUSE], args, label=f"paused: {reason}") or {})

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
                decide.unblock(self.ledger)

    def _unheard(self, news: dict[str, Any]) -> list[str]:
        """The tasks to try again of which no other worker has told already."""
        titles = list(news.get("retries") or ())
        places = list(news.get("retries_at") or ()) or [self._retried_after + 1] * len(titles)
        new = [title for title, place in zip(titles, places, strict=True) if place > self._retried_after]
        if news.get("retries_at"):
            self._retried_after = max(self._retried_after, *places)
        return new

    def _all_checks(self, task: TaskBook, *, everything: bool = False) -> list[dict[str, str]]:
        return [*self._own_checks(task), *self._guard(), *self._others(task, everything=everything)]

    def _own_checks(self, task: TaskBook) -> list[dict[str, str]]:
        return [{"command": command, "of": "task"} for command in self._tasks[task.title].get("checks") or ()]

    def _guard(self) -> list[dict[str, str]]:
        return [{"command": command, "of": "guard"} for command in self._plan.get("guard") or ()]

    def _others(self, task: TaskBook, *, everything: bool) -> list[dict[str, str]]:
        """The checks of tasks that are done, where their work is: this one must not break them."""
        return [
            {"command": command, "of": book.title}
            for book in self.ledger.tasks.values()
            if book.title != task.title and book.verdict in (DONE, SATISFIED)
            if everything or self._crew.has_arrived(book, task)
            for command in self._tasks[book.title].get("checks") or ()
        ]

    def receipt(self) -> dict[str, Any]:
        """The run as it stands."""
        return receipt(self._inputs, self.ledger, self._limits, seconds=self._time.seconds, workers=self._crew.workers)


def _why(results: list[dict[str, Any]]) -> str:
    failing = [str(one["command"]) for one in results if one.get("exit_code") != 0]
    return f"{len(failing)} of {len(results)} checks failed: {'; '.join(failing)}"
