"""The running effects of a driver, from the entry of their start to their result."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from bridle.engine.drive.effects_in_progress import EffectsInProgress
from bridle.engine.drive.performer import Job, Performer, Say, Unperformed, error_result
from bridle.engine.entries import effect_attempts
from bridle.engine.entries.effect_attempts import EffectAttempts
from bridle.engine.hooks import find_hooks, score_payload
from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iteration_report import Action, Failure
from bridle.errors import EffectError, Error, RunError, UserError
from bridle.ground import clock
from bridle.ground.json_fields import JsonFields
from bridle.ground.threads import in_thread, wait_uncancelled
from bridle.journal.format.documents import clean_posted
from bridle.journal.format.entries import DRIVER_PREFIX, RESULT_REFUSED, Effect, Entry, Posted
from bridle.journal.format.refusals import refused_result
from bridle.journal.format.state import State
from bridle.journal.stores.store import Store
from bridle.wire.mask import Mask

OWNER = "drive"


class RunningEffects:
    """Executes effects concurrently."""

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
        in_progress: EffectsInProgress,
        quiet: Collection[str] = (),
    ) -> None:
        self.performed = 0
        """How many effects were resolved."""
        self.resolved: set[str] = set()
        """The effects whose results this driver wrote."""
        self.refused: list[str] = []
        """A line for each result that another process wrote for an effect that only a driver resolves."""
        self._accepted_seq = 0
        """The results up to this entry are of earlier drivers, or were compared with those that this driver wrote."""
        self.known_cost_usd = 0.0
        self.is_cost_known = True
        """The known cost of their agents."""
        self.unperformed: Unperformed | None = None
        """Why an effect could not be executed now; no more effects are started then."""
        self.error: Error | None = None
        """An error of the machine; no more effects are started then."""
        self._store, self._run, self._hooks, self._performers = store, run, hooks, performers
        self._environment, self._mask, self._say, self._quiet = environment, mask, say, quiet
        self._in_progress = in_progress
        self._concurrency = concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._running: dict[str, asyncio.Task[None]] = {}
        self._finishing: set[str] = set()
        """Effects that have ended and whose results are being written."""
        self._unwanted: set[str] = set()
        """Effects that were cancelled because the process does not wait for them any more."""
        self._has_trust_warning = False

    def accept_results(self, state: State) -> None:
        """Accept the results of earlier drivers."""
        self._accepted_seq = state.position.seq

    def foreign_results(self, state: State) -> list[Effect]:
        """Return effects that only a driver resolves, and whose new results this one did not write."""
        found: list[Effect] = []
        for effect in reversed(state.resolved):
            seq = 0 if effect.resolution is None else effect.resolution.seq
            if seq <= self._accepted_seq:
                break
            is_own = effect.effect_id in self.resolved or effect.kind not in self._performers
            if effect.kind.startswith(DRIVER_PREFIX) and not is_own:
                found.append(effect)
                self.refused.append(_describe_foreign(effect))
        self._accepted_seq = state.position.seq
        return found

    @property
    def is_stopping(self) -> bool:
        """Return whether no more effects are started."""
        return self.unperformed is not None or self.error is not None

    def is_started(self, effect_id: str) -> bool:
        return effect_id in self._running

    @property
    def is_idle(self) -> bool:
        """Return whether no effect is running or queued."""
        return not self._running

    @property
    def free_slots(self) -> int:
        """Return how many effects could start at once."""
        return 0 if self.is_stopping else self._concurrency - len(self._running)

    def start(self, action: Action, known: EffectAttempts, *, is_parallel: bool, is_recorded: bool = False) -> None:
        """Start an effect as soon as a slot is free; `is_recorded`: the journal already has its start."""
        job = Job(
            effect=action.effect,
            task=action.task,
            known=known,
            attempt=known.attempts + (known.delivery is None),
            run=self._run,
            repository=self._hooks.repository,
            is_parallel=is_parallel,
            environment={**self._environment, "BRIDLE_EFFECT_ID": action.effect.effect_id},
            mask=self._mask,
            say=self._say,
            append_entry=self.append_entry,
        )
        self._running[action.effect.effect_id] = asyncio.create_task(self._execute(job, is_recorded=is_recorded))

    async def wait(self, seconds: float) -> bool:
        """Wait until an effect ends; return False after the time, or if none is running."""
        if not self._running:
            await asyncio.sleep(seconds)
            return False
        done, _ = await asyncio.wait(self._running.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        self._collect()
        return bool(done)

    async def cancel_except(self, pending: Iterable[str]) -> None:
        """Cancel effects that are not pending: the process cancelled them, or another program posted a result."""
        unwanted = set(self._running) - set(pending) - self._finishing
        self._unwanted |= unwanted
        for effect_id in unwanted:
            self._say(f"{effect_id}: no longer pending; cancelled")
            self._running[effect_id].cancel()
        if unwanted:
            await asyncio.wait([self._running[effect_id] for effect_id in unwanted])
            self._collect()

    async def close(self) -> None:
        """Cancel running effects after the end of the run; let finished ones write their results."""
        await self.cancel_except(())
        await self.drain()

    async def drain(self) -> None:
        """Wait for running effects; start no queued ones."""
        while self._running:
            await asyncio.wait(self._running.values())
            self._collect()

    async def cancel_all(self) -> None:
        """Cancel everything; the journal has their starts."""
        for task in self._running.values():
            task.cancel()
        if self._running:
            await asyncio.wait(self._running.values())

    async def append_entry(self, entry_type: str, data: Mapping[str, object]) -> None:
        """Append an entry; a cancellation does not interrupt the write."""

        def append() -> None:
            with self._store.write(OWNER) as writer:
                writer.append(entry_type, data)

        await wait_uncancelled(in_thread(append, name="writing to the journal"))

    def _collect(self) -> None:
        """Remove the effects that have ended and keep their errors."""
        for effect_id, task in list(self._running.items()):
            if not task.done():
                continue
            del self._running[effect_id]
            self._finishing.discard(effect_id)
            error = None if task.cancelled() else task.exception()
            if isinstance(error, Error):
                self.error = self.error or error
            elif error is not None:
                raise error

    async def _execute(self, job: Job, *, is_recorded: bool) -> None:
        """Execute one effect, from the entry of its start to its result."""
        performer = self._performers[job.effect.kind]
        async with self._slots:
            if self.is_stopping:
                return
            if job.known.delivery is None:
                if not is_recorded:
                    await self.append_entry(
                        effect_attempts.STARTED, effect_attempts.started_data(job.effect, job.attempt)
                    )
                if job.effect.kind not in self._quiet:
                    self._say(
                        f"{job.effect.kind} {job.name}: started"
                        + (f" (attempt {job.attempt})" if job.attempt > 1 else "")
                    )
                await self.fire(find_hooks.ON_TASK_START, job.effect.request.data)
            try:
                result = await self._perform(performer, job)
            except asyncio.CancelledError:
                if job.effect.effect_id in self._unwanted:
                    await wait_uncancelled(asyncio.ensure_future(performer.clear(job)))
                raise
            if isinstance(result, Unperformed):
                self.unperformed = self.unperformed or result
                return
            self._finishing.add(job.effect.effect_id)
            await self._resolve(job, result)
            await performer.clear(job)

    async def _perform(self, performer: Performer, job: Job) -> Posted | Unperformed:
        """Return the result of a performer; an error of the task itself is a result too."""
        started, effect_id = clock.iso(clock.now()), job.effect.effect_id
        is_of_driver = job.effect.kind.startswith(DRIVER_PREFIX)
        try:
            if is_of_driver:
                self._in_progress.begin(effect_id)
            result = await performer.perform(job)
            return clean_posted(result) if isinstance(result, Posted) else result
        except (UserError, RunError) as error:
            return error_result(error, started, self._mask)
        finally:
            if is_of_driver:
                self._in_progress.end(effect_id)

    async def _resolve(self, job: Job, posted: Posted) -> None:
        def post() -> Entry:
            with self._store.write(OWNER) as writer:
                effect_id = job.effect.effect_id
                if job.effect.kind.startswith(DRIVER_PREFIX) and effect_id not in writer.position.pending:
                    foreign = writer.state.effects[effect_id]
                    self.refused.append(_describe_foreign(foreign))
                    writer.append(RESULT_REFUSED, refused_result(foreign))
                entry = writer.resolve(effect_id, posted)
                self.resolved.add(effect_id)
                return entry

        try:
            entry = await wait_uncancelled(in_thread(post, name="writing to the journal"))
        except EffectError as error:  # another program has posted a result first: that one counts
            self._say(f"{job.name}: {error.message}")
            return
        self.performed += 1
        self._add_cost(posted)
        if job.effect.kind not in self._quiet or posted.error is not None:
            self._say(f"{job.effect.kind} {job.name}: {_describe_result(posted)}")
        await self.fire(find_hooks.ON_TASK_COMPLETE, entry.data)
        score = score_payload.score_payload(entry.data, posted)
        if score is not None:
            await self.fire(find_hooks.ON_SCORE, score)

    def _add_cost(self, posted: Posted) -> None:
        """Add the cost of an agent; effects of other kinds have none."""
        metadata = JsonFields(posted.metadata or JsonFields(posted.error).value("data"))
        cost = metadata.number("costUsd")
        self.known_cost_usd += cost or metadata.number("knownCostUsd") or 0.0
        self.is_cost_known = self.is_cost_known and (cost is not None or "costUsd" not in metadata)

    async def fire(self, hook_type: str, payload: Mapping[str, object]) -> None:
        """Fire the native hooks of a type and print their warnings."""
        fired = await self._hooks.fire(hook_type, {**payload, "runId": self._store.metadata().run_id})
        for failure in fired.failures:
            self._say(failure)
        if fired.trust_warning is not None and not self._has_trust_warning:
            self._has_trust_warning = True
            self._say(fired.trust_warning)


def _describe_foreign(effect: Effect) -> str:
    seq = None if effect.resolution is None else effect.resolution.seq
    return f"entry {seq} of the journal is ignored: this driver did not write that result of {effect.kind}"


def _describe_result(posted: Posted) -> str:
    if posted.error is not None:
        return f"error: {Failure.from_json(posted.error)}"
    value = JsonFields(posted.value)
    if value.flag("success", default=True):
        note = JsonFields(posted.metadata).text("note")
        return "done" if note is None else f"done, but {note}"
    exit_code = value.number("exitCode")
    return str(value.value("error")) if exit_code is None else f"exit code {exit_code}"
