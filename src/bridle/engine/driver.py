"""The driver: performs the effects that a run waits for, from outside, until the run ends or somebody else must act.

Nothing is begun that is not in the journal, and everything that was done is in it: `requested`, then `started`, then
`resolved`. What was under way when a driver died is found as such by the next one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.engine import agents, commands, hook_files, inbox, under_way
from bridle.engine.effects import AGENT, BREAKPOINT, SKILL, SLEEP
from bridle.engine.hooks import Hooks
from bridle.engine.iterate import Engine
from bridle.engine.iteration import COMPLETED, FAILED, HALTED, NONE, Action, Iteration
from bridle.engine.place import Place, Places
from bridle.errors import EffectError, Error, UsageError
from bridle.ground import clock, disk
from bridle.ground.lock import FileLock
from bridle.journal import layout
from bridle.journal.entries import ERROR, OK, Output, Posted
from bridle.journal.store import Store

OWNER = "drive"
LOCK_FILE = "bridle-drive.lock"

# Another driver that is on its way out needs no longer.
LOCK_SECONDS = 2.0
# How often the journal is looked at for what others wrote: an answer, a posted result.
POLL_SECONDS = 0.5
# Agents at once where nobody says otherwise: more would only wait for the same account and the same disk.
CONCURRENCY = 4

AGENT_KINDS = frozenset({AGENT, SKILL})
PERFORMED = AGENT_KINDS | commands.KINDS

ASK = "ask"
APPROVE = "approve"
REJECT = "reject"

WAITING = "waiting"


@dataclass(frozen=True)
class Manner:
    """How a run is driven."""

    breakpoints: str = ASK
    """`ask`: a person answers. `approve`, `reject`: a policy does, and the journal says so."""
    concurrency: int = CONCURRENCY
    waits: bool = False
    """Whether to wait for people and other programs; else the driver ends when only they can go on."""
    agents: agents.Manner = field(default_factory=agents.Manner)


@dataclass(frozen=True)
class Driven:
    """Where the run stands when the driver ends."""

    iteration: Iteration
    status: str
    """`completed`, `failed`, `halted`, or `waiting`."""
    performed: int
    waits_for: tuple[inbox.Question, ...] = ()
    left: tuple[Action, ...] = ()
    """Effects of kinds that this driver does not know; whoever made them must post their results."""


class Driver:
    """Drives one run."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        hooks: Hooks,
        manner: Manner,
        *,
        environment: Mapping[str, str],
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._store, self._folder, self._hooks, self._manner = store, folder, hooks, manner
        self._environment, self._say = environment, say
        self._engine = Engine(store, folder, hooks)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._slots = asyncio.Semaphore(max(1, manner.concurrency))
        self._places = Places(hooks.repository, environment)
        self._asked: set[str] = set()
        self._performed = 0

    async def drive(self) -> Driven:
        """Go on until the run ends, or until only others can go on."""
        disk.make_private_folder(self._folder)
        lock = FileLock.hold(self._folder / LOCK_FILE, holder="bridle drive", wait_seconds=LOCK_SECONDS)
        try:
            return await self._drive()
        finally:
            for task in self._running.values():
                task.cancel()
            if self._running:
                await asyncio.wait(self._running.values())
            self._engine.close()
            lock.release()

    async def _drive(self) -> Driven:
        while True:
            found = await asyncio.to_thread(self._engine.iterate)
            if found.status in (COMPLETED, FAILED, HALTED, NONE):
                return Driven(found, found.status, self._performed)
            seen = self._store.standing().seq
            waits_for = await self._begin(found)
            left = tuple(action for action in found.actions if self._is_left(action))
            sleeps = [action for action in found.actions if action.effect.kind == SLEEP]
            if not self._running and not sleeps and not self._manner.waits and self._is_still(seen):
                return Driven(found, WAITING, self._performed, tuple(waits_for), left)
            await self._wait(seen, found.until_ms)

    async def _begin(self, found: Iteration) -> list[inbox.Question]:
        """Begin what can be begun; give back what waits for a person."""
        begun = under_way.read(self._store.state())
        waits_for: list[inbox.Question] = []
        for action in found.actions:
            effect = action.effect
            if effect.effect_id in self._running:
                continue
            if effect.kind == BREAKPOINT:
                waits_for += await self._breakpoint(action)
            elif effect.kind in PERFORMED:
                known = begun.get(effect.effect_id, under_way.UnderWay())
                if known.question is not None:
                    waits_for.append(inbox.Question(effect.effect_id, "doubt", effect.label, known.question))
                elif known.attempts and not under_way.may_repeat(effect, dict(action.task), known):
                    question = await self._doubt(action, known)
                    waits_for.append(question)
                else:
                    task = self._perform(action, known, side_by_side=_shares(found, action))
                    self._running[effect.effect_id] = asyncio.create_task(task)
        return waits_for

    async def _breakpoint(self, action: Action) -> list[inbox.Question]:
        """Ask a person, or let the policy answer; the hooks are told once."""
        effect_id = action.effect.effect_id
        if self._manner.breakpoints == ASK:
            return [one for one in inbox.questions(self._store) if one.effect_id == effect_id]
        if effect_id not in self._asked:
            self._asked.add(effect_id)
            approved = self._manner.breakpoints == APPROVE
            words = f"decided by the policy --breakpoints {self._manner.breakpoints}"
            await asyncio.to_thread(inbox.answer, self._store, effect_id, words, approved=approved, by=inbox.BY_POLICY)
            self._say(f"{action.effect.label or effect_id}: {words}")
        return []

    async def _doubt(self, action: Action, known: under_way.UnderWay) -> inbox.Question:
        """Ask a person about an effect that a dead driver had begun."""
        effect = action.effect
        text = under_way.question(effect)
        await asyncio.to_thread(
            self._note, under_way.DOUBT, {"effectId": effect.effect_id, "attempt": known.attempts, "question": text}
        )
        return inbox.Question(effect.effect_id, "doubt", effect.label, text, ("again",))

    async def _perform(self, action: Action, known: under_way.UnderWay, *, side_by_side: bool) -> None:
        """Do one effect: noted before, resolved after, whatever comes of it."""
        effect = action.effect
        async with self._slots:
            place = await self._places.take(effect.effect_id, known, alone=side_by_side and effect.kind in AGENT_KINDS)
            note = {"effectId": effect.effect_id, "attempt": known.attempts + 1, "kind": effect.kind, **place.as_note()}
            await asyncio.to_thread(self._note, under_way.STARTED, note)
            self._say(f"{effect.kind} {effect.label or effect.task_id}: started")
            started = clock.iso(clock.now())
            await self._tell(hook_files.ON_TASK_START, {"effectId": effect.effect_id, "kind": effect.kind})
            posted = await self._posted(action, place, started)
            await self._resolve(action, posted)

    async def _posted(self, action: Action, place: Place, started: str) -> Posted:
        """Perform, and put what came of it into words; an error of ours is the effect's error too."""
        try:
            if action.effect.kind in AGENT_KINDS:
                return await self._agent(action, place, started)
            return await self._command(action, place, started)
        except Error as error:
            told = {"name": type(error).__name__, "message": error.message}
            return Posted(ERROR, error=told, started_at=started, finished_at=clock.iso(clock.now()))

    async def _command(self, action: Action, place: Place, started: str) -> Posted:
        effect = action.effect
        folder = disk.make_private_folder(self._folder / layout.TASKS / effect.effect_id)
        value, printed = await commands.perform(
            effect.kind, action.task, cwd=place.folder, environment=self._variables(effect.effect_id), folder=folder
        )
        return Posted(
            OK,
            value=value,
            started_at=started,
            finished_at=clock.iso(clock.now()),
            stdout=Output(ref=str(printed.stdout_file.relative_to(self._folder))),
            stderr=Output(ref=str(printed.stderr_file.relative_to(self._folder))),
        )

    async def _agent(self, action: Action, place: Place, started: str) -> Posted:
        effect = action.effect
        name = effect.label or effect.task_id
        asked = agents.request(action.task, self._manner.agents, cwd=place.folder, name=name, own_folder=place.is_own)
        finished = await agents.perform(asked, self._variables(effect.effect_id), self._say)
        ended = clock.iso(clock.now())
        if finished.unusable is not None:
            raise finished.unusable
        if finished.outcome.run_error:
            return Posted(ERROR, error=agents.error(finished), started_at=started, finished_at=ended)
        value = agents.value(finished)
        joined = await self._places.give_back(place, f"bridle: {name}")
        if joined is not None:
            value["workspace"] = joined
        return Posted(OK, value=value, started_at=started, finished_at=ended)

    async def _resolve(self, action: Action, posted: Posted) -> None:
        effect_id = action.effect.effect_id
        try:
            await asyncio.to_thread(self._post, effect_id, posted)
        except EffectError as error:  # somebody else has posted a result meanwhile: theirs stands
            self._say(f"{effect_id}: {error.message}")
            return
        self._performed += 1
        self._say(f"{action.effect.kind} {action.effect.label or action.effect.task_id}: {posted.status}")
        await self._tell(hook_files.ON_TASK_COMPLETE, {"effectId": effect_id, "status": posted.status})

    def _post(self, effect_id: str, posted: Posted) -> None:
        with self._store.write(OWNER) as writer:
            writer.resolve(effect_id, posted)

    def _note(self, entry_type: str, data: dict[str, Any]) -> None:
        with self._store.write(OWNER) as writer:
            writer.append(entry_type, data)

    async def _tell(self, hook_type: str, payload: dict[str, Any]) -> None:
        fired = await self._hooks.fire(hook_type, {**payload, "runId": self._folder.name})
        for fault in fired.faults:
            self._say(fault)

    async def _wait(self, seen: int, until_ms: int | None) -> None:
        """Wait for an effect of ours, the end of a sleep, or an entry of somebody else's."""
        while True:
            limit = POLL_SECONDS
            if until_ms is not None:
                limit = min(limit, max(0.0, until_ms / 1000 - clock.now().timestamp()))
            if self._running:
                done, _ = await asyncio.wait(self._running.values(), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    task.result()
                self._running = {name: task for name, task in self._running.items() if task not in done}
                if done:
                    return
            else:
                await asyncio.sleep(limit)
            if until_ms is not None and clock.now().timestamp() * 1000 >= until_ms:
                return
            if not self._is_still(seen):
                return

    def _is_still(self, seen: int) -> bool:
        """Whether nobody has written anything since."""
        return self._store.standing().seq == seen

    def _is_left(self, action: Action) -> bool:
        return action.effect.kind not in PERFORMED | {BREAKPOINT, SLEEP}

    def _variables(self, effect_id: str) -> dict[str, str]:
        return commands.environment_of(self._environment, run_id=self._folder.name, effect_id=effect_id)


async def drive(
    store: Store,
    folder: Path,
    hooks: Hooks,
    manner: Manner | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Driven:
    """Drive a run; see Driver."""
    if manner is not None and manner.breakpoints not in (ASK, APPROVE, REJECT):
        raise UsageError(f"{manner.breakpoints!r} is no policy for breakpoints", remedy="Use ask, approve or reject.")
    outer = os.environ if environment is None else environment
    return await Driver(store, folder, hooks, manner or Manner(), environment=outer, say=say).drive()


def _shares(found: Iteration, action: Action) -> bool:
    """Whether another agent can be at work at the same time."""
    others = (one for one in found.actions if one.effect.effect_id != action.effect.effect_id)
    return any(one.effect.kind in AGENT_KINDS for one in others)
