"""The driver: executes the pending effects of a run until it ends or waits for the user or another program.

The journal records `requested`, then `started`, then `resolved` for each effect, each before the next step. So the
next driver detects effects that were interrupted.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from bridle.engine import inbox
from bridle.engine.drive.agent_performer import AgentPerformer
from bridle.engine.drive.agent_request import AgentDefaults
from bridle.engine.drive.agent_worktrees import AgentWorktrees
from bridle.engine.drive.command_performer import KINDS as COMMAND_KINDS
from bridle.engine.drive.command_performer import CommandPerformer
from bridle.engine.drive.drive_result import LIMIT, PAUSED, WAITING, DriveResult
from bridle.engine.drive.effects_in_progress import EffectsInProgress
from bridle.engine.drive.iterate_in_turn import iterate_in_turn
from bridle.engine.drive.performer import Performer, Say
from bridle.engine.drive.running_effects import RunningEffects
from bridle.engine.drive.wait_for_driver import take_lock
from bridle.engine.entries import effect_attempts
from bridle.engine.entries.effect_attempts import EffectAttempts
from bridle.engine.hooks import find_hooks
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import Engine
from bridle.engine.iterate.iteration_report import COMPLETED, FAILED, HALTED, NONE, Action, Iteration
from bridle.engine.process.effects import AGENT, BREAKPOINT, SKILL, SLEEP
from bridle.errors import EffectResolved, Error, RunError, UsageError
from bridle.ground import clock
from bridle.ground.clock import SteadyClock
from bridle.ground.git_folder import without_repository_variables
from bridle.ground.threads import in_thread, wait_uncancelled
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.wire.mask import Mask, secret_values

# How often the journal is checked for entries of other programs: an answer, a posted result.
POLL_SECONDS = 0.25
# The default: more agents would only compete for the same account and the same disk.
CONCURRENCY = 4
# A working day: after that the user should check the run before it continues.
LIMIT_SECONDS = 8 * 60 * 60.0

AGENT_KINDS = frozenset({AGENT, SKILL})

ASK = "ask"
APPROVE = "approve"
REJECT = "reject"

_ENDED = frozenset({COMPLETED, FAILED, HALTED, NONE})


class DriveOptions(Struct, frozen=True):
    """The options of a driver."""

    breakpoints: str = ASK
    """`ask`: the user answers. `approve`, `reject`: this policy answers, and the journal records it."""
    concurrency: int = CONCURRENCY
    waits: bool = False
    """Whether to wait for the user and other programs; else the driver ends when only they can continue."""
    limit_seconds: float = LIMIT_SECONDS
    agents: AgentDefaults = field(default_factory=AgentDefaults)
    quiet: frozenset[str] = frozenset()
    """Kinds whose performers print their own progress; the driver prints only their errors."""
    holds: Callable[[str], bool] = lambda _kind: False
    """Whether no effect of a kind may start now; once the others have ended, the driver ends with `paused`."""

    def __post_init__(self) -> None:
        if self.breakpoints not in (ASK, APPROVE, REJECT):
            raise UsageError(f"breakpoints must be ask, approve or reject, got {self.breakpoints!r}")
        if self.concurrency < 1:
            raise UsageError(f"concurrency must be at least 1, got {self.concurrency}")


class Driver:
    """Drives one run.

    `performers` adds or replaces kinds of effects. `on_process_state` is called with what the process reports about
    itself after each iteration.
    """

    def __init__(
        self,
        open_store: Callable[[], Store],
        folder: Path,
        hooks: Hooks,
        options: DriveOptions,
        *,
        environment: Mapping[str, str] = os.environ,
        say: Say = lambda _line: None,
        performers: Mapping[str, Performer] | None = None,
        on_process_state: Callable[[Any], None] | None = None,
    ) -> None:
        environment = without_repository_variables(environment)
        mask = Mask(secret_values(environment))
        self._say: Say = lambda line: say(mask.apply(line))
        self._folder, self._options, self._on_process_state = folder, options, on_process_state
        self._open_store = open_store
        self._store = open_store()
        self._clock = SteadyClock()
        # A separate store, since it is used on another thread.
        self._engine = Engine(
            open_store(),
            folder,
            hooks,
            attempt_of=self._attempt_of,
            now=lambda: self._clock.now(),
            foreign_results=lambda state: self._effects.foreign_results(state),
        )
        self._worktrees = AgentWorktrees(hooks.repository, environment, self._say)
        standard: dict[str, Performer] = dict.fromkeys(AGENT_KINDS, AgentPerformer(options.agents, self._worktrees))
        standard |= dict.fromkeys(COMMAND_KINDS, CommandPerformer(options.agents.sandbox))
        self._performers = {**standard, **(performers or {})}
        self._in_progress = EffectsInProgress(folder, os.environ)
        self._effects = RunningEffects(
            self._store,
            folder,
            hooks,
            self._performers,
            concurrency=options.concurrency,
            environment={**environment, "BRIDLE_RUN_ID": folder.name, "BRIDLE_RUN_DIR": str(folder)},
            mask=mask,
            say=self._say,
            in_progress=self._in_progress,
            quiet=options.quiet,
        )
        self._attempts: dict[str, EffectAttempts] = {}
        """The attempts of earlier drivers."""
        self._recorded_starts: set[str] = set()
        """Effects whose start the engine has recorded and that are not started yet."""
        self._printed: set[str] = set()

    async def drive(self) -> DriveResult:
        """Execute effects until the run ends, or until only the user or other programs can continue."""
        self._store.metadata()  # raises for a folder that is not a run, before anything is written to it
        lock = await take_lock(self._folder, self._say)
        try:
            lock.hold_until_agents_end()
            state = self._open_store().state()  # of a separate store, which is not kept
            self._in_progress.check(state)
            self._in_progress.forget()
            self._attempts = effect_attempts.read(state)
            self._effects.accept_results(state)
            self._clock = SteadyClock(not_before=_last_sleep_request(state))
            if lock.predecessor is not None:
                self._say(f"the last driver of this run (process {lock.predecessor.pid}) was killed; continuing")
                await self._worktrees.sweep({effect.effect_id for effect in state.resolved})
            result = await self._run()
            state = result.iteration.process_state
        finally:
            await wait_uncancelled(asyncio.ensure_future(self._effects.cancel_all()))
            self._engine.close()
            self._in_progress.close()
            self._worktrees.close()
            lock.release()
        is_current = _ids(result.iteration) <= self._version().pending
        return replace(result, process_state=state) if is_current else result

    async def _run(self) -> DriveResult:
        deadline = clock.monotonic() + self._options.limit_seconds
        while True:
            report = await self._iterate(deadline)
            if report.status in _ENDED:
                await self._effects.close()
                await self._clear_worktrees()
                return self._result(report.status, report)
            if self._effects.is_stopping:
                return await self._stop(report)
            version = self._version()
            if not _ids(report) <= version.pending:
                continue  # a hook or another program has posted a result since
            questions = await self._start_effects(report)
            if questions is None:
                continue
            if self._effects.is_idle and any(map(self._is_held, report.actions)):
                return self._waiting(PAUSED, report, questions)
            if self._effects.is_idle and report.until_ms is None and not self._options.waits:
                return self._waiting(WAITING, report, questions)
            if not await self._wait_for_change(version, report.until_ms, deadline):
                seconds = f"{self._options.limit_seconds:g} seconds"
                error = RunError(
                    f"the driver of {self._folder.name} reached its time limit of {seconds}",
                    remedy="Drive the run again, with a longer --max-time if it needs one.",
                )
                return self._waiting(LIMIT, report, questions, error)

    async def _clear_worktrees(self) -> None:
        """Remove what agents of this ended run left: those of a killed driver that the process had cancelled."""
        known = self._open_store().state().effects.values()
        await self._worktrees.sweep({effect.effect_id for effect in known if effect.kind in AGENT_KINDS})

    async def _iterate(self, deadline: float) -> Iteration:
        """Run one iteration; if the process cannot continue, let running effects finish first."""
        try:
            report = await iterate_in_turn(self._engine, self._folder, deadline=deadline, say=self._say_once)
        except Error:
            await self._effects.drain()
            raise
        for warning in (*self._effects.refused, *report.warnings):
            self._say_once(warning)
        self._recorded_starts &= _ids(report)
        await self._effects.cancel_except(_ids(report))
        if self._on_process_state is not None and report.report_state is not None:
            self._on_process_state(report.process_state)
        return report

    def _say_once(self, line: str) -> None:
        if line not in self._printed:
            self._printed.add(line)
            self._say(line)

    def _attempt_of(self, action: Action) -> int | None:
        """Return the number of the attempt that will start right after this iteration; None if that is not certain.

        Only for effects that may be repeated: if the driver dies before the start, the user need not be asked.
        """
        effect = action.effect
        known = self._attempts.get(effect.effect_id, EffectAttempts())
        if (
            effect.kind not in self._performers
            or not self._may_repeat(action)
            or known.question is not None
            or known.delivery is not None
            or effect.effect_id in self._recorded_starts
            or self._effects.is_started(effect.effect_id)
            or self._effects.free_slots <= len(self._recorded_starts)
            or self._is_held(action)
        ):
            return None
        self._recorded_starts.add(effect.effect_id)
        return known.attempts + 1

    def _is_held(self, action: Action) -> bool:
        """Return whether an effect waits for the next driver; one whose start is recorded does not."""
        effect = action.effect
        has_begun = effect.effect_id in self._recorded_starts or self._effects.is_started(effect.effect_id)
        return not has_begun and self._options.holds(effect.kind)

    def _may_repeat(self, action: Action) -> bool:
        return self._performers[action.effect.kind].may_repeat or action.task.is_idempotent

    async def _start_effects(self, report: Iteration) -> list[inbox.Question] | None:
        """Start effects; return the questions for the user, or None if the policy has answered one."""
        questions: list[inbox.Question] = []
        has_answered = False
        for action in report.actions:
            effect = action.effect
            if self._effects.is_started(effect.effect_id):
                continue
            if effect.kind == BREAKPOINT:
                has_answered |= await self._answer(action)
                questions.append(inbox.breakpoint_question(effect, action.task))
            elif effect.kind in self._performers and not self._is_held(action):
                question = await self._start_effect(report, action)
                questions += [] if question is None else [question]
        return None if has_answered else questions

    async def _answer(self, action: Action) -> bool:
        """Answer a breakpoint by the policy; return False without one."""
        if self._options.breakpoints == ASK:
            return False
        approved = self._options.breakpoints == APPROVE
        text = f"decided by the policy --breakpoints {self._options.breakpoints}"
        effect_id = action.effect.effect_id

        def answer() -> inbox.Answered:
            return inbox.answer(self._store, effect_id, text, approved=approved, by=inbox.BY_POLICY)

        try:
            answered = await wait_uncancelled(in_thread(answer, name="answering a breakpoint"))
        except EffectResolved:
            return True  # the user was faster
        self._say(f"breakpoint {action.effect.label or effect_id}: {text}")
        if answered.resolution is not None:
            await self._effects.fire(find_hooks.ON_TASK_COMPLETE, answered.resolution.data)
        return True

    async def _start_effect(self, report: Iteration, action: Action) -> inbox.Question | None:
        """Start an effect, or return a question if it was interrupted and must not run twice."""
        effect = action.effect
        known = self._attempts.get(effect.effect_id, EffectAttempts())
        if known.question is not None:  # it may have been answered since
            known = effect_attempts.read(self._open_store().state()).get(effect.effect_id, known)
        if known.question is None and known.attempts and not known.may_retry and not self._may_repeat(action):
            text = effect_attempts.doubt_question(self._folder.name, effect)
            await self._effects.append_entry(
                effect_attempts.DOUBT, {"effectId": effect.effect_id, "attempt": known.attempts, "question": text}
            )
            known = EffectAttempts(known.attempts, text)
        if known.question is not None:
            self._attempts[effect.effect_id] = known
            return inbox.doubt(effect, known.question)
        is_parallel = self._options.concurrency > 1 and _runs_in_parallel(report, action)
        is_recorded = effect.effect_id in self._recorded_starts
        self._recorded_starts.discard(effect.effect_id)
        self._attempts.pop(effect.effect_id, None)
        self._effects.start(action, known, is_parallel=is_parallel, is_recorded=is_recorded)
        return None

    async def _wait_for_change(self, version: _Version, until_ms: int | None, deadline: float) -> bool:
        """Wait until an effect or a sleep ends or the journal changes; return False at the time limit."""
        while clock.monotonic() < deadline:
            limit = min(POLL_SECONDS, max(0.0, deadline - clock.monotonic()))
            if until_ms is not None:
                limit = min(limit, max(0.0, until_ms / 1000 - self._clock.now().timestamp()))
            if await self._effects.wait(limit) or self._version() != version:
                return True
            if until_ms is not None and self._clock.now().timestamp() * 1000 >= until_ms:
                return True
        return False

    def _version(self) -> _Version:
        """Return what changes when the process has new results, or a question an answer."""
        position = self._store.position()
        has_questions = any(known.question for known in self._attempts.values())
        return _Version(frozenset(position.pending), position.end, position.seq if has_questions else 0)

    async def _stop(self, report: Iteration) -> DriveResult:
        """Let running effects finish, start no more, and return or raise the cause."""
        await self._effects.drain()
        if self._effects.error is not None:
            raise self._effects.error
        unperformed = self._effects.unperformed
        assert unperformed is not None  # noqa: S101  # for the type checker: is_stopping has one of the two causes
        return self._result(unperformed.why, report, error=unperformed.error)

    def _waiting(
        self, status: str, report: Iteration, questions: list[inbox.Question], error: Error | None = None
    ) -> DriveResult:
        known = {BREAKPOINT, SLEEP, *self._performers}
        unsupported = tuple(action for action in report.actions if action.effect.kind not in known)
        return self._result(status, report, questions=tuple(questions), unsupported=unsupported, error=error)

    def _result(self, status: str, report: Iteration, **more: Any) -> DriveResult:
        known = round(self._effects.known_cost_usd, 6)
        cost = known if self._effects.is_cost_known else None
        return DriveResult(status, report, self._effects.performed, cost, known, **more)


class _Version(Struct, frozen=True):
    """The state of the journal as far as the driver waits for changes."""

    pending: frozenset[str]
    end: str | None
    seq: int


async def drive(
    open_store: Callable[[], Store], folder: Path, hooks: Hooks, options: DriveOptions | None = None, **more: Any
) -> DriveResult:
    """Drive a run, for programs that use Bridle as a library; `more` are the other arguments of `Driver`."""
    return await Driver(open_store, folder, hooks, options or DriveOptions(), **more).drive()


def _last_sleep_request(state: State) -> datetime | None:
    """Return when the last pending sleep was requested; a sleep takes no longer than it was to take then."""
    requests = [effect.request.recorded_at for effect in state.pending if effect.kind == SLEEP]
    return max(map(datetime.fromisoformat, requests), default=None)


def _runs_in_parallel(report: Iteration, action: Action) -> bool:
    """Return whether another agent may run at the same time."""
    others = (other.effect for other in report.actions if other.effect.effect_id != action.effect.effect_id)
    return any(other.kind in AGENT_KINDS for other in others)


def _ids(report: Iteration) -> set[str]:
    return {action.effect.effect_id for action in report.actions}
