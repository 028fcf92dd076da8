"""The effects that one driver has under way: begun with a note in the journal, ended with a result in it."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from bridle.engine.drive.performer import Job, Performer, Say, Unperformed, failure
from bridle.engine.entries import effect_attempts
from bridle.engine.entries.effect_attempts import EffectAttempts
from bridle.engine.hooks import find_hooks, score_payload
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iteration_report import Action
from bridle.errors import EffectError, Error, RunError, UserError
from bridle.ground import clock
from bridle.ground.threads import in_thread, undisturbed
from bridle.journal.format.entries import Entry, Posted
from bridle.journal.stores.store import Store
from bridle.wire.mask import Mask

OWNER = "drive"


class RunningEffects:
    """Performs effects, several at a time."""

    def __init__(
        self,
        store: Store,
        run: Path,
        hooks: Hooks,
        performers: Mapping[str, Performer],
        *,
        concurrency: int,
        environment: Mapping[str, str],
        mask: Mask,
        say: Say,
        quiet: Collection[str] = (),
    ) -> None:
        self.performed = 0
        """How many effects were resolved."""
        self.cost_usd = 0.0
        """What their agents cost, as far as that is known."""
        self.unperformed: Unperformed | None = None
        """Why an effect could not be performed; nothing more is begun then."""
        self.fault: Error | None = None
        """What went wrong with the machine, the same."""
        self._store, self._run, self._hooks, self._performers = store, run, hooks, performers
        self._environment, self._mask, self._say, self._quiet = environment, mask, say, quiet
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._ends_by_itself: set[str] = set()
        """Effects that are done, and whose results are on their way into the journal."""
        self._has_trust_warning = False

    @property
    def is_stopping(self) -> bool:
        """Whether nothing more is begun."""
        return self.unperformed is not None or self.fault is not None

    def is_under_way(self, effect_id: str) -> bool:
        """Whether an effect is begun, or waits for its turn."""
        return effect_id in self._running

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is under way."""
        return not self._running

    @property
    def room(self) -> int:
        """How many effects would be begun at once."""
        return 0 if self.is_stopping else self._concurrency - len(self._running)

    def begin(self, action: Action, known: EffectAttempts, *, is_side_by_side: bool, is_noted: bool = False) -> None:
        """Begin an effect, as soon as there is room for it; `is_noted`: the journal says so already."""
        job = Job(
            effect=action.effect,
            task=action.task,
            known=known,
            attempt=known.attempts + (known.delivered is None),
            run=self._run,
            repository=self._hooks.repository,
            is_side_by_side=is_side_by_side,
            environment={**self._environment, "BRIDLE_EFFECT_ID": action.effect.effect_id},
            mask=self._mask,
            say=self._say,
            note=self.note,
        )
        self._running[action.effect.effect_id] = asyncio.create_task(self._do(job, is_noted=is_noted))

    async def wait(self, seconds: float) -> bool:
        """Wait for the end of any of them; False where the time is over, or nothing is under way."""
        if not self._running:
            await asyncio.sleep(seconds)
            return False
        done, _ = await asyncio.wait(self._running.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self._collect()
        return bool(done)

    async def give_up(self, wanted: Iterable[str]) -> None:
        """End those that nobody waits for any more: the process has given them up, or somebody posted a result."""
        unwanted = set(self._running) - set(wanted) - self._ends_by_itself
        for effect_id in unwanted:
            self._say(f"{effect_id}: nobody waits for it any more; it is ended")
            self._running[effect_id].cancel()
        if unwanted:
            await asyncio.wait([self._running[effect_id] for effect_id in unwanted])
            self._collect()

    async def close(self) -> None:
        """The run has ended: what is under way ends now, but what is done is put in order first."""
        await self.give_up(())
        await self.drain()

    async def drain(self) -> None:
        """Let what is under way come to its end; what still waits for its turn is not begun."""
        while self._running:
            await asyncio.wait(self._running.values())
            self._collect()

    async def end(self) -> None:
        """End everything now. The journal says of each that it was begun."""
        for task in self._running.values():
            task.cancel()
        if self._running:
            await asyncio.wait(self._running.values())

    async def note(self, entry_type: str, data: Mapping[str, object]) -> None:
        """Append an entry; once begun, it is in the journal whatever happens here."""

        def append() -> None:
            with self._store.write(OWNER) as writer:
                writer.append(entry_type, data)

        await undisturbed(in_thread(append, name="writing to the journal"))

    def _collect(self) -> None:
        """Take note of those that have ended."""
        for effect_id, task in list(self._running.items()):
            if not task.done():
                continue
            del self._running[effect_id]
            self._ends_by_itself.discard(effect_id)
            error = None if task.cancelled() else task.exception()
            if isinstance(error, Error):
                self.fault = self.fault or error
            elif error is not None:
                raise error

    async def _do(self, job: Job, *, is_noted: bool) -> None:
        """One effect from its note to its result."""
        performer = self._performers[job.effect.kind]
        async with self._slots:
            if self.is_stopping:
                return
            if job.known.delivered is None:
                if not is_noted:
                    await self.note(effect_attempts.STARTED, effect_attempts.started_data(job.effect, job.attempt))
                if job.effect.kind not in self._quiet:
                    self._say(
                        f"{job.effect.kind} {job.name}: started"
                        + (f" (attempt {job.attempt})" if job.attempt > 1 else "")
                    )
                await self._tell(find_hooks.ON_TASK_START, job.effect.request.data)
            done = await self._performed(performer, job)
            if isinstance(done, Unperformed):
                self.unperformed = self.unperformed or done
                return
            self._ends_by_itself.add(job.effect.effect_id)
            await self._resolve(job, done)
            await performer.clear(job)

    async def _performed(self, performer: Performer, job: Job) -> Posted | Unperformed:
        """What came of performing it; what is wrong with the task itself is its result."""
        started = clock.iso(clock.now())
        try:
            return await performer.perform(job)
        except (UserError, RunError) as error:
            return failure(error, started, self._mask)

    async def _resolve(self, job: Job, posted: Posted) -> None:
        def post() -> Entry:
            with self._store.write(OWNER) as writer:
                return writer.resolve(job.effect.effect_id, posted)

        try:
            entry = await undisturbed(in_thread(post, name="writing to the journal"))
        except EffectError as error:  # somebody else has posted a result meanwhile: theirs stands
            self._say(f"{job.name}: {error.message}")
            return
        self.performed += 1
        self.cost_usd += _cost(posted)
        if job.effect.kind not in self._quiet or posted.error is not None:
            self._say(f"{job.effect.kind} {job.name}: {_told(posted)}")
        await self._tell(find_hooks.ON_TASK_COMPLETE, entry.data)
        scored = score_payload.score_payload(entry.data, posted)
        if scored is not None:
            await self._tell(find_hooks.ON_SCORE, scored)

    async def _tell(self, hook_type: str, payload: Mapping[str, object]) -> None:
        """Let the native hooks know."""
        fired = await self._hooks.fire(hook_type, {**payload, "runId": self._store.metadata().get("runId")})
        for failure_message in fired.failures:
            self._say(failure_message)
        if fired.trust_warning is not None and not self._has_trust_warning:
            self._has_trust_warning = True
            self._say(fired.trust_warning)


def _told(posted: Posted) -> str:
    """How an effect ended, in a line."""
    if posted.error is not None:
        return f"error: {posted.error.get('name')}: {posted.error.get('message')}"
    value: Any = posted.value
    if isinstance(value, dict) and value.get("success") is False:
        return f"ended with exit code {value['exitCode']}" if value.get("exitCode") is not None else str(value["error"])
    return "done"


def _cost(posted: Posted) -> float:
    data: Any = posted.metadata or (posted.error or {}).get("data")
    cost = data.get("costUsd") if isinstance(data, Mapping) else None
    return float(cost) if isinstance(cost, (int, float)) else 0.0
