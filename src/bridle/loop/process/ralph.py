"""The loop as a process: which task is next, which effect it needs, and what verdict it gets.

The engine executes it from the start, again and again, with the recorded results. So nothing here reads a clock, a
file or an environment: everything that touches the world is an effect, and the journal alone repeats every decision.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from msgspec import Struct

from bridle.loop import effect_results, effects
from bridle.loop.effect_results import UserChanges, WorkResult
from bridle.loop.plan.model import Plan
from bridle.loop.process import decisions, limit_checks, replan, set_aside
from bridle.loop.process.active_time import ActiveTime
from bridle.loop.process.agent_pool import AgentPool, retry_at
from bridle.loop.process.baseline_checks import BaselineChecks
from bridle.loop.process.effect_requests import EffectRequests
from bridle.loop.process.merge_queue import MergeQueue, setup_failure
from bridle.loop.process.messages import Messages
from bridle.loop.process.output_identity import output_identity
from bridle.loop.process.questions import Questions, remember_answer
from bridle.loop.process.receipt import Receipt, TaskReceipts, build_receipt, describe_isolation
from bridle.loop.process.required_checks import RequiredChecks
from bridle.loop.process.task_state import ACCEPTED, FINAL, RunState, TaskState, Usage, Verdict
from bridle.loop.process.user_changes import adopt_user_changes
from bridle.loop.process.verdicts import Verdicts
from bridle.loop.process.workers import Worker, Workers
from bridle.loop.run_inputs import RunInputs

# The engine calls `process` and `output_identity`.
__all__ = ["Loop", "output_identity", "process"]

# How much of a failing check's output goes into the next iteration's arguments; its log has all of it.
FAILURE_CHARACTERS = 16_000


async def process(inputs: dict[str, Any], ctx: Any) -> dict[str, Any]:
    """Work on the tasks of a frozen plan until each has its verdict; return the receipt."""
    return (await Loop(inputs, ctx).run()).as_json()


class Paused(Struct, frozen=True):
    """Why nothing can start until the user acts."""

    why: str
    reason: str


class Loop:
    """One run of the loop."""

    def __init__(self, inputs: dict[str, Any], ctx: Any) -> None:
        self._ctx = ctx
        self._inputs = RunInputs.from_json(inputs)
        plan = self._inputs.plan
        self._settings = self._inputs.settings
        self._time = ActiveTime()
        self.state = RunState.of(plan)
        self._agents = AgentPool(self._settings.agents)
        self._workers = Workers(
            parallel=self._settings.parallel,
            has_worktree=self._settings.worktree,
            base=self._inputs.base,
        )
        self._requests = EffectRequests(ctx, self._workers, self._inputs, self._time, self._adopt)
        self._messages = Messages(self.state, self._requests, self._settings.limits, self._replan)
        self._checks = RequiredChecks(plan, self.state, self._workers)
        self._merge_queue = MergeQueue(self._workers, self._requests, has_turns=self._inputs.has_current_decisions)
        self._verdicts = Verdicts(
            self.state,
            self._workers,
            self._requests,
            self._checks,
            self._merge_queue,
            tries=lambda: self._messages.limits.tries,
            stuck_after=self._settings.stuck_after,
            has_current_decisions=self._inputs.has_current_decisions,
        )
        self._baseline = BaselineChecks(
            self._requests, self._checks, self.state, knows_missing_files=self._inputs.counts_only_work
        )
        self._questions = Questions(ctx, self.state)
        self._paused: Paused | None = None
        self._is_summarizing = False
        self._task_receipts = TaskReceipts()
        ctx.report_state = self.receipt

    async def run(self) -> Receipt:
        """Run from the first task to the last verdict."""
        await self._prepare()
        while True:
            await replan.drop_tasks(self.state, self._workers, self._requests)
            decisions.block(self.state)
            self._questions.receive_answers()
            self._messages.receive()
            limit = self._start_steps()
            if self._workers.busy:
                await self._wait_for_step_or_answer()
            elif self._paused is not None:
                await self._pause_until_resumed(self._paused)
            elif limit is not None:
                await self._pause(effects.WHY_LIMIT, limit)
            elif self._questions.waiting:
                if self._inputs.has_current_decisions:
                    self._messages.wait_beside_questions()
                await asyncio.wait(self._awaited(), return_when=asyncio.FIRST_COMPLETED)
            elif all(task.verdict in ACCEPTED for task in self.state.tasks.values()):
                self._messages.cancel_wait()
                return self.receipt()
            else:
                await self._pause(effects.WHY_ENDED, decisions.describe_failures(self.state))

    async def _prepare(self) -> None:
        while (failed := (prepared := await self._requests.prepare()).setup) is not None:
            self.state.setup = failed
            await self._pause(effects.WHY_SETUP, setup_failure(failed))
        self.state.setup = None
        self.state.found += prepared.found
        if self._inputs.has_baseline:
            await self._baseline.run(self._pause)

    def _start_steps(self) -> str | None:
        """Start a step for every idle worker that has a task; return the limit that forbids it."""
        for worker in self._workers.all:
            task = self._next_task(worker) if worker.step is None else None
            if task is None or self._paused is not None:
                continue
            limit = limit_checks.limit_reached(
                self._messages.limits,
                self.state,
                elapsed_seconds=self._time.seconds,
                running=len(self._workers.busy),
                planned=self._workers.planned if self._inputs.has_current_decisions else 0,
            )
            if limit is not None:
                return limit
            self._merge_queue.give_turn(task)
            self._workers.assign(worker, task)
            worker.step = asyncio.create_task(self._step(task))
        return None

    def _next_task(self, worker: Worker) -> TaskState | None:
        """Return the next task of an idle worker: first one whose turn it is, since no other worker has it."""
        title = self._merge_queue.next_turn
        if title is not None and not self.state.tasks[title].is_open:
            self._merge_queue.forget(self.state.tasks[title])
            return self._next_task(worker)
        has_work = worker.task is not None and self.state.tasks[worker.task].is_open
        if title is not None and not has_work:
            return self.state.tasks[title]
        return self._workers.next_task(worker, self.state, waiting=self._merge_queue.waiting)

    def _awaited(self) -> list[asyncio.Future[Any]]:
        """Return what can arrive from the user."""
        return [*self._questions.waiting.values(), *self._messages.waiting]

    async def _wait_for_step_or_answer(self) -> None:
        steps = [worker.step for worker in self._workers.busy if worker.step is not None]
        await asyncio.wait([*steps, *self._awaited()], return_when=asyncio.FIRST_COMPLETED)
        for step in self._workers.finished_steps():
            step.result()  # an error in one step ends the run

    async def _pause_until_resumed(self, paused: Paused) -> None:
        """Pause once all workers are idle, and then try everything again that the user may have fixed."""
        await self._pause(paused.why, paused.reason)
        self._paused = None
        self._agents.unusable.clear()
        if paused.why == effects.WHY_USAGE:  # a user who resumes before the reset may know better
            self._agents.limited.clear()

    async def _step(self, task: TaskState) -> None:
        """Execute one step of a task, in its turn if it has one."""
        try:
            await self._merge_queue.begin_turn(task)
            await self._check_or_iterate(task)
        finally:
            self._merge_queue.end_turn(task)
        if task.verdict in FINAL or self._merge_queue.is_waiting(task):
            self._workers.release(task)  # the work of a rejected task is kept under a ref

    async def _check_or_iterate(self, task: TaskState) -> None:
        """Run the checks of a task before any work, or one iteration."""
        if self._workers.is_parallel:
            failed = await self._merge_queue.prepare_copy(task)
            self.state.setup = failed
            if failed is not None:
                self._paused = Paused(effects.WHY_SETUP, setup_failure(failed))
                return
        elif self._inputs.has_current_decisions:
            await set_aside.others(task, self.state, self._requests)
        if not await self._was_satisfied(task):
            self._agents.choose(self._messages.agents)
            agent = self._agents.available(self._ctx.now)
            if agent is not None:
                await self._iterate(task, agent)
            else:
                await self._wait_for_an_agent(task)

    async def _was_satisfied(self, task: TaskState) -> bool:
        """Return whether the task's own checks pass before any work; with `red_first` that is an error of the plan."""
        if task.was_checked_first:
            return False
        task.was_checked_first = True
        checks = self._checks.own(task)
        if not checks:
            return False
        if known := self._baseline.failed(checks, is_parallel=self._workers.is_parallel):
            task.checks = known
            return False
        checked = await self._requests.check(task, effects.BEFORE_WORK, checks)
        task.checks = checked.results  # an iteration without a change is compared with these
        if not checked.passed or checked.outside:
            return False
        if self._workers.is_parallel and not await self._merge_queue.is_up_to_date(task):
            task.was_checked_first = False  # another task has landed: check again together with it
            return True
        if self._settings.red_first:
            task.verdict = Verdict.FAILED
            task.reason = "its own check already passes before any work, which --red-first forbids"
        else:
            task.verdict, task.reason = Verdict.SATISFIED, "its own checks passed before any work"
        return True

    async def _iterate(self, task: TaskState, agent: str) -> None:
        """Run one fresh agent, and act on how it ended."""
        self.state.iterations += 1
        task.iterations += 1
        self._workers.of(task).has_iterated = True
        number = self.state.iterations
        work = await self._work(task, agent)
        if work.ending != effect_results.OK and work.changed:
            await self._requests.protect(task, work)  # protected files are restored however it ended
        match work.ending:
            case effect_results.LIMIT:
                self._agents.limited[agent] = retry_at(work.limit_resets_at, self._ctx.now())
            case effect_results.TRANSIENT:
                self._do_not_count(task)
                await self._back_off(task)
            case effect_results.UNUSABLE:
                if self._inputs.counts_only_work:
                    self._do_not_count(task)
                self._agents.unusable[agent] = task.reason = work.message or f"{agent} cannot be used"
            case effect_results.BUDGET:
                self._do_not_count(task)
                self._paused = Paused(effects.WHY_BUDGET, work.message or "the budget is spent")
            case effect_results.CRASHED:
                await self._crashed(task, work, agent)
            case effect_results.QUESTION:
                await self._asked(task, work, agent)
            case _:
                task.crashes = task.waits = task.policy_answers = 0
                await self._verdicts.judge(task, work)
        is_due = number % self._settings.summarize_every == 0 and self.state.iterations >= number
        if is_due and not (self._is_summarizing and self._inputs.has_current_decisions):
            await self._summarize(number)

    async def _asked(self, task: TaskState, work: WorkResult, agent: str) -> None:
        """Let the task wait for an answer, unless its agent asks again and again where no user answers."""
        if task.policy_answers and self._inputs.has_current_decisions:
            await self._verdicts.asked_again(task, work)
            if task.verdict in FINAL:
                return
        if self._workers.is_parallel:
            await self._merge_queue.save_work(task)
        self._questions.park(task, work, agent)
        waits_for_user = self._settings.breakpoints == "ask"  # else a policy answers before another task starts
        if not self._inputs.has_current_decisions and not self._workers.is_parallel and waits_for_user:
            await set_aside.at_once(task, work, self.state, self._requests)

    def _do_not_count(self, task: TaskState) -> None:
        """Leave out an iteration in which no agent could work."""
        if self._inputs.has_current_decisions:
            self.state.iterations -= 1
            task.uncounted += 1

    async def _summarize(self, number: int) -> None:
        """Summarize old progress; where no agent is available, that waits for the next time."""
        agent = self._agents.available(self._ctx.now)
        if agent is None:
            return
        self._is_summarizing = True
        try:
            summarized = await self._requests.for_run(effects.SummarizeArgs(iteration=number, agent=agent), None)
        finally:
            self._is_summarizing = False
        self.state.overhead.add(Usage.of(summarized))

    async def _work(self, task: TaskState, agent: str) -> WorkResult:
        is_answered = task.answer is not None
        args = effects.WorkArgs(
            task=task.title,
            iteration=task.iterations,
            agent=agent,
            failure=task.failure[-FAILURE_CHARACTERS:],
            notes=tuple(task.notes),
            answer=task.answer,
            answered=tuple(task.answered),
            question=task.last_question if is_answered else None,
            session_id=task.session_id if is_answered and task.session_agent == agent else None,
            after=self._messages.after,
            hints=tuple(self.state.hints),
            conflicts=task.conflicts,
        )
        self.state.hints = []
        work = await self._requests.for_task(task, args, effects.work_label(args))
        usage = Usage.of(work)
        task.usage.add(usage)
        task.last = usage.cost_without(Usage(work.wasted_usd))
        self.state.iteration_costs.append(usage.cost_usd)
        task.conflicts = work.conflicts
        task.has_work |= work.changed
        task.first_snapshot, task.last_snapshot = task.first_snapshot or work.snapshot, work.snapshot
        task.cut += [(task.iterations, cut) for cut in work.cut]
        task.denials += [denial for denial in work.denials if denial not in task.denials]
        was_read = work.ending in effect_results.PROMPT_WAS_READ
        denied = [f"A tool call was denied: {denial}" for denial in work.denials]
        task.notes = [*([] if was_read else task.notes), *denied]
        if work.left_branch:
            task.notes.append("You left the branch, and were moved back: stay on the branch that is checked out.")
        if work.git_changes:
            paths = ", ".join(report.path for report in work.git_changes)
            task.notes.append(f"Do not change git's own files ({paths}): the harness makes branches and commits.")
            task.report(work.git_changes)
        if was_read:
            remember_answer(task)
        else:  # the next prompt repeats the hints
            self.state.hints += [*args.hints, *work.user_messages.hints]
        self._messages.apply(work.user_messages)
        return work

    # Endings that are not the task's fault

    async def _wait_for_an_agent(self, task: TaskState) -> None:
        """Wait for the first usage limit that is reset; pause where waiting does not help."""
        until = self._agents.next_reset()
        if until is None:
            why = "; ".join(dict.fromkeys(self._agents.unusable.values()))
            self._paused = Paused(effects.WHY_UNUSABLE, f"no agent is available: {why}")
            return
        wait, left = (until - self._ctx.now()).total_seconds(), self._messages.limits.max_seconds - self._time.seconds
        if wait > left:  # waiting would only use up the time
            reason = limit_checks.reset_too_late(until, wait_seconds=wait, left_seconds=left)
            self._paused = Paused(effects.WHY_USAGE, reason)
            return
        task.reason = f"waiting for a usage limit until {until.isoformat()}"
        self._merge_queue.end_turn(task)
        await self._ctx.sleep_until(until, label=f"usage limit: {task.title}")
        self._agents.clear_limits(until)

    async def _back_off(self, task: TaskState) -> None:
        wait = decisions.backoff_seconds(task.waits)
        task.waits += 1
        self._merge_queue.end_turn(task)
        await self._ctx.sleep_until(self._ctx.now() + timedelta(seconds=wait), label=f"overloaded: {task.title}")

    async def _crashed(self, task: TaskState, work: WorkResult, agent: str) -> None:
        is_resumed = task.answer is not None and task.session_id is not None and task.session_agent == agent
        if is_resumed and self._inputs.has_current_decisions:
            task.session_id = None  # it may be gone: the next prompt has the question and the answer
            task.reason = f"the session of the question could not be resumed: {' '.join(work.message.split())}"
            return
        task.crashes += 1
        message = " ".join(work.message.split()) or "it exited without a result"
        task.reason = f"the agent crashed: {message}"
        if task.crashes < decisions.CRASHES:
            return
        task.verdict = Verdict.FAILED
        task.reason = f"the agent crashed {task.crashes} times: {message}"
        await self._requests.undo_work(task)

    async def _pause(self, why: str, reason: str) -> None:
        """Wait for `resume` or `retry`, with new limits or with a task to try again."""
        await self._messages.pause(why, reason, self.receipt().as_json())

    def _adopt(self, changes: UserChanges) -> None:
        adopt_user_changes(changes, self.state, self._workers, self._checks)

    def _replan(self, plan: Plan) -> None:
        replan.replace_plan(plan, self.state)
        self._checks.replace(plan)
        self._requests.replace_plan(plan)

    def receipt(self) -> Receipt:
        """Return the receipt of the run so far."""
        return build_receipt(
            self._inputs,
            self.state,
            self._messages.limits,
            time=self._time,
            copies=tuple(self._workers.copies(self.state)),
            tip=self._workers.tip,
            isolation=describe_isolation(tuple(self._requests.isolations)),
            built=self._task_receipts,
        )
