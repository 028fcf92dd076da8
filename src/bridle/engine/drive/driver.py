"""The driver: performs the effects that a run waits for, from outside, until the run ends or somebody else must act.

Nothing is begun that is not in the journal, and everything that was done is in it: `requested`, then `started`, then
`resolved`. What was under way when a driver ended is found as such by the next one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.engine import inbox
from bridle.engine.drive import performer
from bridle.engine.drive.agent_performer import AgentPerformer
from bridle.engine.drive.agent_request import AgentDefaults as AgentManner
from bridle.engine.drive.agent_worktrees import Places
from bridle.engine.drive.command_performer import KINDS as COMMAND_KINDS
from bridle.engine.drive.command_performer import CommandPerformer
from bridle.engine.drive.performer import Performer, Say
from bridle.engine.drive.running_effects import RunningEffects
from bridle.engine.entries import effect_attempts
from bridle.engine.entries.effect_attempts import EffectAttempts
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import Engine
from bridle.engine.iterate.iteration_report import COMPLETED, FAILED, HALTED, NONE, Action, Iteration
from bridle.engine.process.effects import AGENT, BREAKPOINT, SKILL, SLEEP
from bridle.errors import EffectResolved, Error, LockHeld, RunError, UsageError
from bridle.ground import clock
from bridle.ground.descendants import census
from bridle.ground.lock import FileLock, Holder
from bridle.ground.threads import in_thread, undisturbed
from bridle.journal.stores.store import Store
from bridle.wire.mask import Mask, secret_values

LOCK_FILE = "bridle-drive.lock"

# Another driver that is on its way out needs no longer.
LOCK_SECONDS = 2.0
# The keeper gives what a killed driver had started a second, and then kills it; on a loaded machine that takes longer.
KEEPER_SECONDS = 30.0
# How often the journal is looked at for what others wrote: an answer, a posted result.
POLL_SECONDS = 0.25
# Effects at once where nobody says otherwise: more agents would only wait for the same account and the same disk.
CONCURRENCY = 4
# A run that takes longer than a working day is looked at by somebody before it goes on.
LIMIT_SECONDS = 8 * 60 * 60.0

AGENT_KINDS = frozenset({AGENT, SKILL})

ASK = "ask"
APPROVE = "approve"
REJECT = "reject"

WAITING = "waiting"
LIMIT = performer.LIMIT
UNUSABLE = performer.UNUSABLE
_ENDED = frozenset({COMPLETED, FAILED, HALTED, NONE})


@dataclass(frozen=True)
class DriveOptions:
    """How a run is driven."""

    breakpoints: str = ASK
    """`ask`: a person answers. `approve`, `reject`: a policy does, and the journal says so."""
    concurrency: int = CONCURRENCY
    waits: bool = False
    """Whether to wait for people and other programs; else the driver ends when only they can go on."""
    limit_seconds: float = LIMIT_SECONDS
    agents: AgentManner = field(default_factory=AgentManner)
    quiet: frozenset[str] = frozenset()
    """Kinds whose performers tell of themselves; only what went wrong with them is said."""

    def __post_init__(self) -> None:
        if self.breakpoints not in (ASK, APPROVE, REJECT):
            raise UsageError(f"{self.breakpoints!r} is no policy for breakpoints", remedy="Use ask, approve or reject.")
        if self.concurrency < 1:
            raise UsageError(f"{self.concurrency} effects at once is none at all", remedy="Give 1 or more.")


@dataclass(frozen=True)
class Driven:
    """Where the run stands when the driver ends."""

    status: str
    """`completed`, `failed`, `halted`, `none`, `waiting`, `limit` or `unusable`."""
    iteration: Iteration
    performed: int
    """How many effects this driver resolved."""
    cost_usd: float
    """What their agents cost, as far as that is known."""
    questions: tuple[inbox.Question, ...] = ()
    """What waits for a person."""
    left: tuple[Action, ...] = ()
    """Effects of kinds that this driver does not know; whoever made them must post their results."""
    trouble: Error | None = None
    """Which limit was reached, or which agent cannot be used."""


class Driver:
    """Drives one run."""

    def __init__(
        self,
        open_store: Callable[[], Store],
        folder: Path,
        hooks: Hooks,
        manner: DriveOptions,
        *,
        environment: Mapping[str, str],
        say: Say = lambda _line: None,
        performers: Mapping[str, Performer] | None = None,
    ) -> None:
        mask = Mask(secret_values(environment))
        self._say: Say = lambda line: say(mask.apply(line))
        self._folder, self._manner = folder, manner
        self._open_store = open_store
        self._store = open_store()
        # A store of its own: it works in another thread.
        self._engine = Engine(open_store(), folder, hooks, attempt_of=self._attempt_of)
        self._places = Places(hooks.repository, environment, self._say)
        standard: dict[str, Performer] = dict.fromkeys(AGENT_KINDS, AgentPerformer(manner.agents, self._places))
        standard |= dict.fromkeys(COMMAND_KINDS, CommandPerformer())
        self._performers = {**standard, **(performers or {})}
        self._work = RunningEffects(
            self._store,
            folder,
            hooks,
            self._performers,
            concurrency=manner.concurrency,
            environment={**environment, "BRIDLE_RUN_ID": folder.name, "BRIDLE_RUN_DIR": str(folder)},
            mask=mask,
            say=self._say,
            quiet=manner.quiet,
        )
        self._known: dict[str, EffectAttempts] = {}
        """What earlier drivers had begun."""
        self._noted: set[str] = set()
        """Effects of which the engine has noted that they are begun, and that are not begun yet."""
        self._told: set[str] = set()

    async def drive(self) -> Driven:
        """Go on until the run ends, or until only others can go on."""
        self._store.metadata()  # a folder that is no run is refused before anything is made in it
        lock = await self._lock()
        try:
            lock.outlive_us()
            state = self._open_store().state()  # of a store of its own, which keeps nothing of it
            self._known = effect_attempts.read(state)
            if lock.predecessor is not None:
                self._say(f"the last driver of this run (process {lock.predecessor.pid}) was killed; going on")
                await self._places.sweep({effect.effect_id for effect in state.resolved})
            return await self._until_it_ends()
        finally:
            await undisturbed(asyncio.ensure_future(self._work.end()))
            self._engine.close()
            lock.release()

    async def _lock(self) -> FileLock:
        """One driver at a run. The lock of one that was killed is waited for: what it had started is being ended."""
        try:
            return await self._hold(LOCK_SECONDS)
        except LockHeld as refusal:
            holder = refusal.payload
            if not isinstance(holder, Holder) or _is_alive(holder.pid):
                raise LockHeld(
                    f"the run {self._folder.name} has a driver already: {refusal.message}",
                    remedy="Wait until it is done, or end that process; then drive the run again.",
                    payload=holder,
                ) from refusal
        self._say("waiting until what the last driver of this run had started has ended")
        return await self._hold(KEEPER_SECONDS)

    async def _hold(self, seconds: float) -> FileLock:
        def hold() -> FileLock:
            return FileLock.hold(self._folder / LOCK_FILE, holder="bridle drive", wait_seconds=seconds)

        return await undisturbed(in_thread(hold, name="waiting for the driver's lock"))

    async def _until_it_ends(self) -> Driven:
        deadline = clock.monotonic() + self._manner.limit_seconds
        while True:
            found = await self._iterate()
            if found.status in _ENDED:
                await self._work.close()
                return self._driven(found.status, found)
            if self._work.is_stopping:
                return await self._stopped(found)
            mark = self._mark()
            if not _ids(found) <= mark.pending:
                continue  # a hook, or somebody else, has posted a result meanwhile
            questions = await self._begin(found)
            if questions is None:
                continue
            if self._work.is_at_rest and found.until_ms is None and not self._manner.waits:
                return self._waiting(WAITING, found, questions)
            if not await self._something_happens(mark, found.until_ms, deadline):
                trouble = RunError(f"driving took longer than its limit of {self._manner.limit_seconds:g} seconds")
                return self._waiting(LIMIT, found, questions, trouble)

    async def _iterate(self) -> Iteration:
        """One iteration; where the process cannot go on, what is under way comes to its end first."""
        try:
            found = await undisturbed(in_thread(self._engine.iterate, name="iterating"))
        except Error:
            await self._work.drain()
            raise
        for remark in found.remarks:
            if remark not in self._told:
                self._told.add(remark)
                self._say(remark)
        self._noted &= _ids(found)
        await self._work.give_up(_ids(found))
        return found

    def _attempt_of(self, action: Action) -> int | None:
        """The attempt at an effect that is begun as soon as this iteration is over; None where that is not certain.

        Only of one that may be repeated: should we die before it has begun, nobody is to be asked about it.
        """
        effect = action.effect
        known = self._known.get(effect.effect_id, EffectAttempts())
        if (
            effect.kind not in self._performers
            or not self._may_repeat(action)
            or known.question is not None
            or known.delivered is not None
            or effect.effect_id in self._noted
            or self._work.is_under_way(effect.effect_id)
            or self._work.room <= len(self._noted)
        ):
            return None
        self._noted.add(effect.effect_id)
        return known.attempts + 1

    def _may_repeat(self, action: Action) -> bool:
        return self._performers[action.effect.kind].may_repeat or action.task.get("idempotent") is True

    async def _begin(self, found: Iteration) -> list[inbox.Question] | None:
        """Begin what can be begun; gives what waits for a person, or None where a policy has answered something."""
        questions: list[inbox.Question] = []
        has_answered = False
        for action in found.actions:
            effect = action.effect
            if self._work.is_under_way(effect.effect_id):
                continue
            if effect.kind == BREAKPOINT:
                has_answered |= await self._answer(action)
                questions.append(inbox.breakpoint_question(effect, action.task))
            elif effect.kind in self._performers:
                question = await self._perform(found, action)
                questions += [] if question is None else [question]
        return None if has_answered else questions

    async def _answer(self, action: Action) -> bool:
        """Let the policy answer a breakpoint, where there is one; whether it did."""
        if self._manner.breakpoints == ASK:
            return False
        approved = self._manner.breakpoints == APPROVE
        words = f"decided by the policy --breakpoints {self._manner.breakpoints}"
        effect_id = action.effect.effect_id

        def answer() -> None:
            inbox.answer(self._store, effect_id, words, approved=approved, by=inbox.BY_POLICY)

        try:
            await undisturbed(in_thread(answer, name="answering a breakpoint"))
        except EffectResolved:
            return True  # a person was faster
        self._say(f"breakpoint {action.effect.label or effect_id}: {words}")
        return True

    async def _perform(self, found: Iteration, action: Action) -> inbox.Question | None:
        """Begin an effect, or ask a person first where it was under way and may not be done twice."""
        effect = action.effect
        known = self._known.get(effect.effect_id, EffectAttempts())
        if known.question is not None:  # an answer may have come since
            known = effect_attempts.read(self._open_store().state()).get(effect.effect_id, known)
        if known.question is None and known.attempts and not known.is_wanted_again and not self._may_repeat(action):
            text = effect_attempts.doubt_question(effect)
            await self._work.note(
                effect_attempts.DOUBT, {"effectId": effect.effect_id, "attempt": known.attempts, "question": text}
            )
            known = EffectAttempts(known.attempts, text)
        if known.question is not None:
            self._known[effect.effect_id] = known
            return inbox.doubt(effect, known.question)
        is_side_by_side = self._manner.concurrency > 1 and _has_company(found, action)
        is_noted = effect.effect_id in self._noted
        self._noted.discard(effect.effect_id)
        self._known.pop(effect.effect_id, None)
        self._work.begin(action, known, is_side_by_side=is_side_by_side, is_noted=is_noted)
        return None

    async def _something_happens(self, mark: _Mark, until_ms: int | None, deadline: float) -> bool:
        """Wait for the end of an effect or a sleep, or for what others write; False when the limit is reached."""
        while clock.monotonic() < deadline:
            limit = min(POLL_SECONDS, max(0.0, deadline - clock.monotonic()))
            if until_ms is not None:
                limit = min(limit, max(0.0, until_ms / 1000 - clock.now().timestamp()))
            if await self._work.wait(limit) or self._mark() != mark:
                return True
            if until_ms is not None and clock.now().timestamp() * 1000 >= until_ms:
                return True
        return False

    def _mark(self) -> _Mark:
        """What tells whether there is news for the process, or an answer to a question of ours."""
        standing = self._store.standing()
        asks = any(known.question for known in self._known.values())
        return _Mark(frozenset(standing.pending), standing.end, standing.seq if asks else 0)

    async def _stopped(self, found: Iteration) -> Driven:
        """Something keeps effects from being performed: what is under way comes to its end, nothing is begun."""
        await self._work.drain()
        if self._work.fault is not None:
            raise self._work.fault
        unperformed = self._work.unperformed
        assert unperformed is not None  # noqa: S101  # for the type checker: it is one or the other
        return self._driven(unperformed.why, found, trouble=unperformed.error)

    def _waiting(
        self, status: str, found: Iteration, questions: list[inbox.Question], trouble: Error | None = None
    ) -> Driven:
        known = {BREAKPOINT, SLEEP, *self._performers}
        left = tuple(action for action in found.actions if action.effect.kind not in known)
        return self._driven(status, found, questions=tuple(questions), left=left, trouble=trouble)

    def _driven(self, status: str, found: Iteration, **more: Any) -> Driven:
        return Driven(status, found, self._work.performed, round(self._work.cost_usd, 6), **more)


@dataclass(frozen=True)
class _Mark:
    pending: frozenset[str]
    end: str | None
    seq: int


async def drive(
    open_store: Callable[[], Store],
    folder: Path,
    hooks: Hooks,
    manner: DriveOptions | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    say: Say = lambda _line: None,
    performers: Mapping[str, Performer] | None = None,
) -> Driven:
    """Drive a run until it ends, or until only others can go on; `performers` adds kinds of effects, or replaces."""
    outer = os.environ if environment is None else environment
    driver = Driver(
        open_store, folder, hooks, manner or DriveOptions(), environment=outer, say=say, performers=performers
    )
    return await driver.drive()


def living_driver(folder: Path) -> Holder | None:
    """Who drives a run now; None where nobody does, or where only what a killed one had started is being ended."""
    holder = FileLock.holder_of(folder / LOCK_FILE)
    return holder if holder is not None and _is_alive(holder.pid) else None


def _has_company(found: Iteration, action: Action) -> bool:
    """Whether another agent can be at work at the same time."""
    others = (one for one in found.actions if one.effect.effect_id != action.effect.effect_id)
    return any(one.effect.kind in AGENT_KINDS for one in others)


def _ids(found: Iteration) -> set[str]:
    return {action.effect.effect_id for action in found.actions}


def _is_alive(pid: int) -> bool:
    found = census.look(pid)
    return found is not None and found.is_alive
