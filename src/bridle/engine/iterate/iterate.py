"""One iteration of a run: replay its process, keep what it newly asks for, say what is to be done next.

The turn at the journal is held while the process runs, and is given back while hooks run: they may take long, and may
post results themselves. A lock of its own lets one iteration at a time at a run, so that a hook of the process runs
once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.engine.entries import effect_attempts, notes
from bridle.engine.hooks import find_hooks
from bridle.engine.hooks.run_hooks import Fired, Hooks
from bridle.engine.hooks.sync_hooks import SyncHooks
from bridle.engine.iterate import iteration_report
from bridle.engine.iterate.iteration_report import Action, Iteration
from bridle.engine.process import load_process
from bridle.engine.process.effects import BREAKPOINT
from bridle.engine.replay.answers import Run
from bridle.engine.replay.new_requests import Ask, Call
from bridle.engine.replay.replay import Replay
from bridle.errors import JournalBroken, RunError
from bridle.ground import clock
from bridle.ground.lock import FileLock
from bridle.journal.format import layout
from bridle.journal.format.entries import OK, RUN_COMPLETED, RUN_FAILED, RUN_HALTED, Effect, Posted
from bridle.journal.format.proof import completion_proof
from bridle.journal.format.state import State
from bridle.journal.stores.store import TURN_WAIT_SECONDS, Store, Writer

OWNER = "run:iterate"
LOCK_FILE = "bridle-iterate.lock"

_FOR_GOOD = (iteration_report.COMPLETED, iteration_report.HALTED)


class Engine:
    """Iterates one run. Kept between iterations it goes on where the process rests, instead of from the start."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        run_hooks: Hooks,
        *,
        now: Callable[[], datetime] = clock.now,
        wait_seconds: float = TURN_WAIT_SECONDS,
        attempt_of: Callable[[Action], int | None] = lambda _action: None,
    ) -> None:
        """`attempt_of`: the number of the attempt at an effect that its driver is about to begin.

        It is noted in the same turn in which the effect is asked for, which saves the driver one of its own.
        """
        self._store = store
        self._folder = folder
        self._hooks = run_hooks
        self._now = now
        self._wait_seconds = wait_seconds
        self._attempt_of = attempt_of
        self._replay: Replay | None = None
        self._journal_id: str | None = None
        self._requested: list[Effect] = []

    def iterate(self) -> Iteration:
        """Replay, keep, answer. Not to be called on a thread whose event loop is running."""
        if self._store.standing().end in _FOR_GOOD:
            return self._answer_ended(self._store.state())
        herald, began, self._requested = SyncHooks(self._hooks, self._run_id), self._now(), []
        if herald.hears(find_hooks.ON_ITERATION_START):
            state = self._store.state()
            number = iteration_report.number(state)
            herald.tell(find_hooks.ON_ITERATION_START, {"iteration": number, "state": state.standing.state})
        path = self._folder / LOCK_FILE
        with FileLock.hold(path, holder=OWNER, wait_seconds=self._wait_seconds):
            try:
                found = self._run_to_rest(herald)
            except BaseException:
                self.close()  # what it asked for may be kept in part: the next iteration begins anew
                raise
        self._tell(found, herald, took_ms=round((self._now() - began).total_seconds() * 1000))
        return found._replace(remarks=(*found.remarks, *herald.remarks), hook_status=herald.status)

    def close(self) -> None:
        """Leave the process where it is; nothing of it runs again."""
        if self._replay is not None:
            self._replay.abandon()
            self._replay = None

    def _run_to_rest(self, herald: SyncHooks) -> Iteration:
        """Take turns until the process waits for nothing that can be had at once."""
        ran: tuple[Call, Fired] | None = None
        number = 0
        while True:
            with self._store.write(OWNER, wait_seconds=self._wait_seconds) as writer:
                state = writer.state
                if state.standing.end in _FOR_GOOD:
                    return self._answer_ended(state)
                number = number or iteration_report.number(state)
                if ran is not None:
                    writer.append(notes.HOOK_RESOLVED, {"hookId": ran[0].hook_id, "result": ran[1].as_json()})
                replay = self._caught_up(writer, state)
                call = None if replay.answers.halt_asked else replay.answers.next_call
                if call is None:
                    return self._conclude(replay, writer, state, number)
            payload = call.payload if isinstance(call.payload, Mapping) else {"payload": call.payload}
            ran = (call, herald.tell(call.hook_type, payload, limit_seconds=call.limit_seconds))

    def _caught_up(self, writer: Writer, state: State) -> Replay:
        """The process at rest, with everything that it asked for kept and every sleep ended that is over."""
        replay = self._current_replay(state)
        replay.catch_up(self._store, writer, state)
        self._keep(replay, writer, state)
        while not replay.answers.halt_asked and (due := replay.answers.due_sleeps):
            for effect_id in due:
                stamp = clock.iso(self._now())
                writer.resolve(effect_id, Posted(OK, value=None, started_at=stamp, finished_at=stamp))
            replay.catch_up(self._store, writer, state)
            self._keep(replay, writer, state)
        return replay

    def _current_replay(self, state: State) -> Replay:
        """The one under way if its files and its journal are still the same; else a new one from the start."""
        journal_id = state.created.ulid if state.created is not None else None
        replay = self._replay
        if replay is not None and replay.process.is_current() and journal_id == self._journal_id:
            return replay
        self.close()
        loaded = load(self._store.metadata(), self._folder)
        inputs = self._store.inputs()
        run = Run(self._run_id, self._process_id, str(self._folder), {} if inputs is None else inputs)
        self._replay, self._journal_id = Replay(loaded, run, now=self._now), journal_id
        return self._replay

    def _keep(self, replay: Replay, writer: Writer, state: State) -> None:
        """Write what the process newly asked for, in the order of the program."""
        known = replay.recall.code or self._store.metadata().get("processCodeHash")
        if known != replay.process.digest:
            note = {"sha256": replay.process.digest} | ({"previous": known} if known else {})
            writer.append(notes.PROCESS_CODE, note)
        for item in replay.answers.news:
            if not isinstance(item, Ask):
                writer.append(item.entry_type, item.data)
            elif not item.promise.cancelled():  # asked for and given up within one turn: nobody wants it
                writer.request(item.request)
                self._requested.append(state.effects[item.request.effect_id])
        replay.answers.news.clear()
        replay.recall.learn(state)

    def _conclude(self, replay: Replay, writer: Writer, state: State, number: int) -> Iteration:
        """Write the end of the run if this is it, and say where it stands."""
        remarks = tuple(replay.remarks)
        if (halt := replay.answers.halt_asked) is not None:
            data = {"reason": halt.reason} | ({"payload": halt.payload} if halt.payload is not None else {})
            writer.append(RUN_HALTED, data)
            self.close()
            return self._answer(number, iteration_report.HALTED, iteration_report.HALTED, halt=data, remarks=remarks)
        if replay.error is not None:
            return self._failed(replay.error, writer, state, number, remarks)
        if replay.returned:
            return self._completed(replay, writer, state, number, remarks)
        actions = iteration_report.next_actions(
            self._store, (state.effects[effect_id] for effect_id in replay.answers.pending)
        )
        for action in actions:
            attempt = self._attempt_of(action)
            if attempt is not None:
                writer.append(effect_attempts.STARTED, effect_attempts.begun(action.effect, attempt))
        status, reason = iteration_report.standing(actions)
        return self._answer(number, status, reason, actions=actions, remarks=remarks)

    def _completed(
        self, replay: Replay, writer: Writer, state: State, number: int, remarks: tuple[str, ...]
    ) -> Iteration:
        try:
            output_ref = writer.keep_output(replay.value)
        except (TypeError, ValueError, RecursionError) as error:
            fault = RunError(f"{iteration_report.NOT_JSON}: {error}")
            return self._failed(fault, writer, state, number, remarks)
        writer.append(RUN_COMPLETED, {"outputRef": output_ref})
        self.close()
        return self._answer_completed(number, remarks)

    def _failed(
        self, error: BaseException, writer: Writer, state: State, number: int, remarks: tuple[str, ...]
    ) -> Iteration:
        told = iteration_report.told(error)
        before = state.ended.data.get("error") if state.ended is not None else None
        if state.standing.end != iteration_report.FAILED or not iteration_report.is_same_error(before, told):
            writer.append(RUN_FAILED, {"error": told})
        self.close()
        return self._answer(number, iteration_report.FAILED, "failed", error=told, remarks=remarks)

    def _answer_ended(self, state: State) -> Iteration:
        """The same answer again for a run that has completed or was halted."""
        if state.standing.end == iteration_report.COMPLETED:
            return self._answer_completed(iteration_report.number(state), ())
        data = state.ended.data if state.ended is not None else {}
        halt = {"reason": iteration_report.HALTED} | {key: data[key] for key in ("reason", "payload") if key in data}
        return self._answer(iteration_report.number(state), iteration_report.HALTED, iteration_report.HALTED, halt=halt)

    def _answer_completed(self, number: int, remarks: tuple[str, ...]) -> Iteration:
        proof, output = completion_proof(self._store.metadata()), self._store.output()
        more = {"completion_proof": proof, "output": output, "remarks": remarks}
        return self._answer(number, iteration_report.COMPLETED, iteration_report.COMPLETED, **more)

    def _answer(self, number: int, status: str, reason: str, **more: Any) -> Iteration:
        return Iteration(self._run_id, self._process_id, number, status, reason, **more)

    def _tell(self, found: Iteration, herald: SyncHooks, *, took_ms: int) -> None:
        """Let the hooks know what happened, in the order in which it did."""
        for effect in self._requested:
            herald.tell(find_hooks.ON_STEP_DISPATCH, effect.request.data)
            if effect.kind == BREAKPOINT and herald.hears(find_hooks.ON_BREAKPOINT):
                metadata: Any = self._store.task(effect.effect_id).get("metadata")
                herald.tell(find_hooks.ON_BREAKPOINT, {**effect.request.data, "payload": metadata["payload"]})
        if found.status == iteration_report.COMPLETED:
            told = {"status": found.status, "output": found.output, "duration": took_ms}
            herald.tell(find_hooks.ON_RUN_COMPLETE, told)
        elif found.status == iteration_report.FAILED:
            told = {"status": found.status, "error": (found.error or {}).get("message"), "duration": took_ms}
            herald.tell(find_hooks.ON_RUN_FAIL, told)
        herald.tell(find_hooks.ON_ITERATION_END, found.summary())

    @property
    def _run_id(self) -> str:
        return str(self._store.metadata().get("runId"))

    @property
    def _process_id(self) -> str:
        return str(self._store.metadata().get("processId"))


def iterate(
    store: Store,
    folder: Path,
    run_hooks: Hooks,
    *,
    now: Callable[[], datetime] = clock.now,
    wait_seconds: float = TURN_WAIT_SECONDS,
) -> Iteration:
    """One iteration of a run, from the start of its process."""
    engine = Engine(store, folder, run_hooks, now=now, wait_seconds=wait_seconds)
    try:
        return engine.iterate()
    finally:
        engine.close()


def load(metadata: Mapping[str, object], folder: Path) -> load_process.Process:
    """Import the process of a run: by its id if it is part of Bridle, else from its file."""
    path, export = _entry_of(metadata, folder)
    process_id = metadata.get("processId")
    if load_process.is_built_in(process_id):  # runs of earlier versions name the file where it once was
        return load_process.load_built_in(str(process_id))
    return load_process.load(path, export)


def _entry_of(metadata: Mapping[str, object], folder: Path) -> tuple[Path, str]:
    """Return the file of a run's process, which is named relative to the run's folder, and its function."""
    version, entrypoint = metadata.get("layoutVersion"), metadata.get("entrypoint")
    if version != layout.LAYOUT_VERSION:
        raise JournalBroken(
            f"the run {metadata.get('runId')} has the layout {version!r}, not {layout.LAYOUT_VERSION!r}",
            remedy="Use the program that made it.",
        )
    path = entrypoint.get("importPath") if isinstance(entrypoint, Mapping) else None
    export = entrypoint.get("exportName") if isinstance(entrypoint, Mapping) else None
    if not isinstance(path, str) or not path:
        raise JournalBroken(f"the run {metadata.get('runId')} does not say which process it runs")
    return Path(os.path.normpath(folder.resolve() / path)), str(export or load_process.DEFAULT_EXPORT)
