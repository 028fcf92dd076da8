"""One iteration of a run: replay its process, record its new requests, report the pending effects.

The journal's write lock is held while the process runs and released while hooks run: they may take long, and may post
results themselves. A second lock allows one iteration of a run at a time, so that a hook of the process runs once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.engine.entries import effect_attempts, notes
from bridle.engine.hooks import find_hooks
from bridle.engine.hooks.run_hooks import HookResults, Hooks
from bridle.engine.hooks.sync_hooks import SyncHooks
from bridle.engine.iterate import iteration_report
from bridle.engine.iterate.iteration_report import Action, Failure, Iteration
from bridle.engine.process import load_process
from bridle.engine.process.effects import BREAKPOINT, SLEEP, breakpoint_payload
from bridle.engine.replay import ordered_waits
from bridle.engine.replay.answers import Run
from bridle.engine.replay.new_requests import HookRequest, NewEffect
from bridle.engine.replay.replay import Replay
from bridle.errors import JournalBroken, ProcessNotLoaded, RunError
from bridle.ground import clock, run_place, trust
from bridle.ground.home import bridle_home
from bridle.ground.lock import FileLock
from bridle.journal.format import layout
from bridle.journal.format.documents import RunMetadata
from bridle.journal.format.entries import (
    OK,
    RESULT_REFUSED,
    RUN_COMPLETED,
    RUN_CONTINUED,
    RUN_FAILED,
    RUN_HALTED,
    Effect,
    Entry,
    Posted,
)
from bridle.journal.format.input_values import TooDeep
from bridle.journal.format.refusals import refused_result
from bridle.journal.format.state import State
from bridle.journal.stores.store import LOCK_WAIT_SECONDS, Store, Writer

OWNER = "run:iterate"
LOCK_FILE = "bridle-iterate.lock"

_FINAL = (iteration_report.COMPLETED, iteration_report.HALTED)


class Engine:
    """Iterates one run. If kept between iterations, it continues the process instead of replaying it from the start."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        run_hooks: Hooks,
        *,
        now: Callable[[], datetime] = clock.now,
        wait_seconds: float = LOCK_WAIT_SECONDS,
        attempt_of: Callable[[Action], int | None] = lambda _action: None,
        foreign_results: Callable[[State], list[Effect]] = lambda _state: [],
    ) -> None:
        """`attempt_of` returns the number of the attempt at an effect that its driver is about to start.

        The attempt is recorded under the same write lock as the request, which saves the driver a write of its own.
        `foreign_results` returns the effects whose results another process has written: they are refused, and the
        process never receives them.
        """
        self._store = store
        self._folder = folder
        self._hooks = run_hooks
        self._now = now
        self._wait_seconds = wait_seconds
        self._attempt_of = attempt_of
        self._foreign_results = foreign_results
        self._replay: Replay | None = None
        self._journal_id: str | None = None
        self._requested: list[Effect] = []

    def iterate(self) -> Iteration:
        """Run one iteration. Must not be called on a thread whose event loop is running."""
        if self._store.position().end in _FINAL:
            return self._report_ended(self._store.state())
        hooks, started, self._requested = SyncHooks(self._hooks, self._run_id), self._now(), []
        if hooks.has(find_hooks.ON_ITERATION_START):
            state = self._store.state()
            number = iteration_report.iteration_number(state, ends_sleep=self._has_due_sleep(state))
            hooks.fire(find_hooks.ON_ITERATION_START, {"iteration": number, "state": state.position.state})
        path = self._folder / LOCK_FILE
        with FileLock.hold(path, holder=OWNER, wait_seconds=self._wait_seconds):
            try:
                report = self._run_until_blocked(hooks)
            except BaseException:
                self.close()  # its requests may be recorded in part: the next iteration replays from the start
                raise
        self._fire_hooks(report, hooks, took_ms=round((self._now() - started).total_seconds() * 1000))
        return report._replace(warnings=(*report.warnings, *hooks.warnings), hook_status=hooks.status)

    def close(self) -> None:
        """Abandon the process; none of its code runs again."""
        if self._replay is not None:
            self._replay.abandon()
            self._replay = None

    def _run_until_blocked(self, hooks: SyncHooks) -> Iteration:
        """Replay and run hooks until the process waits only for effects."""
        finished: tuple[HookRequest, HookResults] | None = None
        number = 0
        while True:
            with self._store.write(OWNER, wait_seconds=self._wait_seconds) as writer:
                state = writer.state
                for effect in self._foreign_results(state):
                    writer.append(RESULT_REFUSED, refused_result(effect))
                if state.position.end in _FINAL:
                    return self._report_ended(state)
                number = number or iteration_report.iteration_number(state, ends_sleep=self._has_due_sleep(state))
                if finished is not None:
                    call, results = finished
                    writer.append(notes.HOOK_RESOLVED, {"hookId": call.hook_id, "result": results.as_json()})
                replay = self._catch_up(writer, state)
                waiting = None if replay.answers.halt_request else replay.answers.next_call
                if waiting is None:
                    return self._conclude(replay, writer, state, number)
            payload = waiting.payload if isinstance(waiting.payload, Mapping) else {"payload": waiting.payload}
            finished = (waiting, hooks.fire(waiting.hook_type, payload, limit_seconds=waiting.limit_seconds))

    def _catch_up(self, writer: Writer, state: State) -> Replay:
        """Replay the process, record its requests, and resolve the sleeps whose time has come."""
        replay = self._current_replay(state)
        replay.catch_up(self._store, writer, state)
        self._record(replay, writer, state)
        while not replay.answers.halt_request and (due := replay.answers.due_sleeps):
            for effect_id in due:
                stamp = clock.iso(self._now())
                writer.resolve(effect_id, Posted(OK, value=None, started_at=stamp, finished_at=stamp))
            replay.catch_up(self._store, writer, state)
            self._record(replay, writer, state)
        return replay

    def _has_due_sleep(self, state: State) -> bool:
        """Return whether this iteration ends a pending sleep."""
        sleeps = (self._store.task(effect) for effect in state.pending if effect.kind == SLEEP)
        now_ms = self._now().timestamp() * 1000
        return any(task.sleep_until_ms is not None and task.sleep_until_ms <= now_ms for task in sleeps)

    def _current_replay(self, state: State) -> Replay:
        """Return the kept replay if its files and its journal are the same, else a new one."""
        journal_id = state.created.ulid if state.created is not None else None
        replay = self._replay
        if replay is not None and replay.process.is_current() and journal_id == self._journal_id:
            return replay
        self.close()
        inputs = self._store.inputs(state.created)  # before the process: a changed file is named as such
        process = load(self._store.metadata(), self._folder)
        run = Run(self._run_id, self._process_id, str(self._folder), {} if inputs is None else inputs)
        self._replay, self._journal_id = Replay(process, run, now=self._now), journal_id
        return self._replay

    def _record(self, replay: Replay, writer: Writer, state: State) -> None:
        """Write the new requests of the process, in program order."""
        previous = replay.recording.code_digest or self._store.metadata().code_digest
        if previous != replay.process.digest:
            data = {"sha256": replay.process.digest} | ({"previous": previous} if previous else {})
            writer.append(notes.PROCESS_CODE, data)
        for item in replay.answers.new_items:
            if not isinstance(item, NewEffect):
                writer.append(item.entry_type, item.data)
            elif not item.promise.cancelled():  # requested and cancelled within one turn
                writer.request(item.request)
                self._requested.append(state.effects[item.request.effect_id])
        replay.answers.new_items.clear()
        replay.recording.update(state)

    def _conclude(self, replay: Replay, writer: Writer, state: State, number: int) -> Iteration:
        """Record the end of the run if it has ended, and return the report."""
        warnings = tuple(replay.warnings)
        if (halt := replay.answers.halt_request) is not None:
            data = {"reason": halt.reason} | ({"payload": halt.payload} if halt.payload is not None else {})
            writer.append(RUN_HALTED, data)
            self.close()
            return self._report(number, iteration_report.HALTED, iteration_report.HALTED, halt=data, warnings=warnings)
        if replay.error is not None:
            return self._failed(replay.error, writer, state, number, warnings)
        if replay.has_returned:
            return self._completed(replay, writer, state, number, warnings)
        if state.position.end == iteration_report.FAILED:
            writer.append(RUN_CONTINUED, {})
        actions = iteration_report.next_actions(
            self._store, (state.effects[effect_id] for effect_id in replay.answers.pending)
        )
        for action in actions:
            attempt = self._attempt_of(action)
            if attempt is not None:
                writer.append(effect_attempts.STARTED, effect_attempts.started_data(action.effect, attempt))
        status, reason = iteration_report.waiting_status(actions)
        return self._report(
            number, status, reason, actions=actions, warnings=warnings, report_state=replay.report_state
        )

    def _completed(
        self, replay: Replay, writer: Writer, state: State, number: int, warnings: tuple[str, ...]
    ) -> Iteration:
        # The end is the proof of everything before it, and a replay from the cache has read few of the files.
        self._store.verify_tasks(state.effects.values())
        self._store.verify_results(state.resolved)
        try:
            iteration_report.check_depth(replay.value)
            output_ref = writer.write_output(replay.value)
        except (TypeError, ValueError, RecursionError, TooDeep) as error:
            not_json = RunError(f"{iteration_report.NOT_JSON}: {error}")
            return self._failed(not_json, writer, state, number, warnings)
        ended = writer.append(RUN_COMPLETED, {"outputRef": output_ref})
        self.close()
        return self._report_completed(ended, number, warnings)._replace(report_state=replay.report_state)

    def _failed(
        self, error: BaseException, writer: Writer, state: State, number: int, warnings: tuple[str, ...]
    ) -> Iteration:
        failure = Failure.of(error)
        previous = Failure.from_json(state.ended.data.get("error")) if state.ended is not None else None
        if state.position.end != iteration_report.FAILED or previous is None or not failure.is_same(previous):
            writer.append(RUN_FAILED, {"error": failure.as_json()})
        self.close()
        return self._report(number, iteration_report.FAILED, "failed", failure=failure, warnings=warnings)

    def _report_ended(self, state: State) -> Iteration:
        """Return the report of a run that has completed or was halted."""
        self._store.inputs(state.created)
        self._store.verify_results(state.resolved)
        ended = state.ended and next(self._store.entries(after=state.ended.seq - 1))  # verified, unlike the pack's
        if state.position.end == iteration_report.COMPLETED and ended is not None:
            return self._report_completed(ended, iteration_report.iteration_number(state), ())
        data = ended.data if ended is not None else {}
        halt = {"reason": iteration_report.HALTED} | {key: data[key] for key in ("reason", "payload") if key in data}
        return self._report(
            iteration_report.iteration_number(state), iteration_report.HALTED, iteration_report.HALTED, halt=halt
        )

    def _report_completed(self, ended: Entry, number: int, warnings: tuple[str, ...]) -> Iteration:
        proof, output = self._store.metadata().completion_proof, self._store.output(ended)
        more = {"completion_proof": proof, "output": output, "warnings": warnings}
        return self._report(number, iteration_report.COMPLETED, iteration_report.COMPLETED, **more)

    def _report(self, number: int, status: str, reason: str, **more: Any) -> Iteration:
        return Iteration(self._run_id, self._process_id, number, status, reason, **more)

    def _fire_hooks(self, report: Iteration, hooks: SyncHooks, *, took_ms: int) -> None:
        """Fire the hooks of what happened, in order."""
        for effect in self._requested:
            hooks.fire(find_hooks.ON_STEP_DISPATCH, effect.request.data)
            if effect.kind == BREAKPOINT and hooks.has(find_hooks.ON_BREAKPOINT):
                payload = breakpoint_payload(self._store.task(effect))
                hooks.fire(find_hooks.ON_BREAKPOINT, {**effect.request.data, "payload": payload})
        end = {"status": report.status, "duration": took_ms}
        if report.status == iteration_report.COMPLETED:
            hooks.fire(find_hooks.ON_RUN_COMPLETE, end | {"output": report.output})
        elif report.failure is not None:
            hooks.fire(find_hooks.ON_RUN_FAIL, end | {"error": report.failure.message})
        hooks.fire(find_hooks.ON_ITERATION_END, report.summary())

    @property
    def _run_id(self) -> str:
        return self._store.metadata().run_id

    @property
    def _process_id(self) -> str:
        return self._store.metadata().process_id


def iterate(
    store: Store,
    folder: Path,
    run_hooks: Hooks,
    *,
    now: Callable[[], datetime] = clock.now,
    wait_seconds: float = LOCK_WAIT_SECONDS,
) -> Iteration:
    """Run one iteration, replaying the process from its start."""
    engine = Engine(store, folder, run_hooks, now=now, wait_seconds=wait_seconds)
    try:
        return engine.iterate()
    finally:
        engine.close()


def load(metadata: RunMetadata, folder: Path) -> load_process.Process:
    """Import the process of a run: by its id if it is part of Bridle, else from its file."""
    path, export = _entry_of(metadata, folder)
    process_id = metadata.process_id
    ordered_waits.install()
    if not load_process.is_built_in(process_id):
        _check_trusted(metadata.run_id, folder)
        return load_process.load(path, export)
    # Runs of version 0.1.0 name the file of the loop in the installation of that time.
    is_named_by_file = path.parts[-3:] == ("bridle", "loop", "ralph.py")
    if metadata.import_path != process_id and not is_named_by_file:
        raise ProcessNotLoaded(
            f"run {metadata.run_id} names the process {process_id!r}, which is part of Bridle, but the file {path}",
            remedy="Create a run of the file under an id of its own: bridle run:create",
        )
    return load_process.load_built_in(process_id)


def _check_trusted(run_id: str, folder: Path) -> None:
    """Raise if the run came with its repository, and the user has not agreed to run its process."""
    repository = find_hooks.repository_of(folder)
    home = bridle_home(os.environ)
    if trust.is_shipped_run(repository, folder, home) and not trust.is_trusted(repository, home, trust.PROCESSES):
        raise ProcessNotLoaded(
            f"run {run_id} was not begun by you on this machine, and you have not agreed to run its process",
            remedy="Read the files that `bridle trust --show` lists, then run `bridle trust`.",
        )


def _entry_of(metadata: RunMetadata, folder: Path) -> tuple[Path, str]:
    """Return the file of a run's process, which is named relative to the run's folder, and its function."""
    version = metadata.layout_version
    if version != layout.LAYOUT_VERSION:
        raise JournalBroken(
            f"layoutVersion in {folder / layout.RUN_FILE} must be {layout.LAYOUT_VERSION!r}, got {version!r}",
            remedy="Use the program that created it.",
        )
    if metadata.import_path is None:
        raise JournalBroken(f"run.json of run {metadata.run_id} names no process (entrypoint.importPath)")
    named, linked = run_place.process_files(folder, metadata.import_path)
    return named if named.exists() else linked, metadata.export_name or load_process.DEFAULT_EXPORT
