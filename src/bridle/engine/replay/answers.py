"""The requests of a process: resolved from the journal, or collected as new ones.

A recorded request is found by its step and compared with the present one. New requests are collected in program order
for the caller to write. Nothing here writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from bridle.engine.entries import notes
from bridle.engine.process import effects
from bridle.engine.process.define_task import TaskContext, caller_location
from bridle.engine.process.effects import EffectRequest, SleepTarget
from bridle.engine.replay import json_values, turn_clock
from bridle.engine.replay.event_loop import Promise, ReplayLoop
from bridle.engine.replay.hook_calls import HookCalls, PayloadDigests
from bridle.engine.replay.new_requests import HaltRequest, HookRequest, NewEffect, NewEntry
from bridle.engine.replay.recorded import RecordedHook, Recording, resolved_at
from bridle.engine.replay.step_ids import Steps
from bridle.engine.replay.turn_clock import TurnClock
from bridle.errors import BadTask, JournalBroken, ProcessDiverged, UsageError
from bridle.ground import ids
from bridle.journal.format.digest import sha256
from bridle.journal.format.documents import TaskDocument
from bridle.journal.format.entries import OK, PROCESS_LOG, Effect, Entry, Request, Result
from bridle.journal.format.input_values import clean_value, shown

RESTORE = "Nothing was written. Restore the code and iterate again, or start a new run."


class Run(NamedTuple):
    """The run of an execution."""

    run_id: str
    process_id: str
    folder: str
    inputs: Any


class RecordReader(Protocol):
    """The part of a store that a replay reads."""

    def task(self, effect: Effect) -> TaskDocument:
        """Return the recorded task of an effect."""
        ...

    def inputs_digest(self, effect: Effect) -> str:
        """Return the digest of an effect's arguments."""
        ...

    def result(self, effect: Effect) -> Result:
        """Return the result of an effect."""
        ...


class IdSource(Protocol):
    """The source of ids for new effects."""

    def new_id(self) -> str:
        """Return an id greater than all before."""
        ...


class Answers:
    """The EffectSource of one execution of a process."""

    def __init__(self, run: Run, loop: ReplayLoop, recording: Recording, now: Callable[[], datetime]) -> None:
        self.new_items: list[NewEntry | NewEffect] = []
        """In program order; the caller that writes them clears the list."""
        self.halt_request: HaltRequest | None = None
        self.stop_error: ProcessDiverged | JournalBroken | None = None
        """Why the process was stopped: it diverged, or a file of the run is unusable."""
        self.is_stopped = False
        """Whether further requests of the process are ignored."""
        self.steps = Steps()
        self.store: RecordReader
        self.writer: IdSource
        self._run = run
        self._loop = loop
        self._recording = recording
        self._now = now
        self._clock = TurnClock(recording, now)
        self._hooks = HookCalls(recording)
        self._promises: dict[str, Promise] = {}
        self._early_results: dict[str, Effect] = {}
        self._sleeps: dict[str, SleepTarget] = {}
        self._deferred: list[Effect | RecordedHook] = []
        """Results that arrived before they were requested, and begin a turn once the process is idle."""
        self._log_count = self._id_count = 0

    @property
    def pending(self) -> list[str]:
        """Return the ids of the effects that the process waits for, in the order of their requests."""
        return [effect_id for effect_id, promise in self._promises.items() if not promise.done()]

    @property
    def due_sleeps(self) -> list[str]:
        """Return the pending sleeps whose time has come, the earliest first."""
        now_ms = _epoch_ms(self._now())
        due = [(self._sleeps[sleep].epoch_ms, sleep) for sleep in self.pending if sleep in self._sleeps]
        return [effect_id for epoch_ms, effect_id in sorted(due) if epoch_ms <= now_ms]

    @property
    def next_call(self) -> HookRequest | None:
        """Return the first native hook that the process waits for."""
        return self._hooks.next

    def was_requested(self, recorded: Effect | RecordedHook) -> bool:
        """Return whether the process has requested a recorded effect or hook."""
        if isinstance(recorded, RecordedHook):
            return self._hooks.was_called(recorded.hook_id)
        return self.steps.was_reached(recorded.step_id)

    def deliver(self, item: Effect | RecordedHook) -> None:
        """Start a turn by resolving the future of one result."""
        if isinstance(item, RecordedHook):
            self._clock.begin_turn(turn_clock.after_hook(item.hook_id))
            self._hooks.deliver(item)
            return
        self._clock.begin_turn(turn_clock.after_step(item.step_id))
        if item.effect_id in self._promises:
            self._resolve(item)
        else:
            self._early_results[item.effect_id] = item  # not requested yet: the code before it has changed

    def deliver_deferred(self) -> bool:
        """Start the turn of the first result that arrived before its request; return False without one."""
        if not self._deferred or self.is_stopped:
            return False
        item = min(self._deferred, key=resolved_at)
        self._deferred.remove(item)
        if isinstance(item, RecordedHook):
            self._clock.resume_turn(turn_clock.after_hook(item.hook_id))
            self._hooks.deliver(item)
        else:
            self._clock.resume_turn(turn_clock.after_step(item.step_id))
            self._resolve(item)
        return True

    # ---- for the process, through its context

    def request(self, request: EffectRequest, key: str | None) -> asyncio.Future[Any]:
        """Return the future of an effect, recorded or new."""
        promise = Promise(loop=self._loop)
        if self.is_stopped:
            return promise
        try:
            self._answer(self.steps.next_id(key), request, promise)
        except JournalBroken as error:  # not for the process, which could handle it and complete
            self._stop_with(error)
        return promise

    def request_hook(
        self, hook_type: str, payload: Any, label: str | None, limit_seconds: float
    ) -> asyncio.Future[Any]:
        """Return the future of a hook's result, recorded or new."""
        promise = Promise(loop=self._loop)
        if self.is_stopped:
            return promise
        _check_hook_type(hook_type)
        digests = PayloadDigests(hook_type, payload)
        hook_id = self._hooks.next_id(hook_type, digests)
        recorded = self._recording.hooks.get(hook_id)
        if recorded is None or not recorded.resolved_at:
            _check_limit(limit_seconds)
        if recorded is None:
            json_values.checked(payload, ("the payload of hook", hook_type))
            data = {"hookId": hook_id, "hookType": hook_type, "payloadDigest": digests.recorded}
            name = _label(label)
            self.new_items.append(NewEntry(notes.HOOK_REQUESTED, data | ({"label": name} if name else {})))
        elif recorded.hook_type != hook_type or not digests.match(recorded.payload_digest):
            more = " with another payload" if recorded.hook_type == hook_type else ""
            requested = f"hook call {hook_id} is of type {hook_type!r} with {json_values.preview(payload)}"
            self._diverge(requested, f"one of type {recorded.hook_type!r}{more}", recorded.request)
        # A copy: the process may change the payload before the hook runs.
        copy = json_values.clean_copy(payload, ("the payload of hook", hook_type))
        self._hooks.add(HookRequest(hook_id, hook_type, copy, label, limit_seconds), promise)
        early = self._hooks.take_early(hook_id)
        if early is not None and not self.is_stopped:
            self._deliver_early(early, turn_clock.after_hook(hook_id))
        return promise

    def read_clock(self) -> datetime:
        """Return the recorded time of this turn, else the present time."""
        reading, new = self._clock.read()
        if new is not None and not self.is_stopped:
            self.new_items.append(new)
        return reading

    def next_id(self) -> str:
        """Return an id derived from the run's and a counter: 32 hexadecimal digits."""
        self._id_count += 1
        return sha256(f"{self._run.run_id}:id:{self._id_count}".encode())[:32]

    def log(self, label: str | None, message: str) -> None:
        """Collect a log message, unless an earlier iteration recorded it."""
        self._log_count += 1
        if self._log_count > self._recording.log_count and not self.is_stopped:
            data = {"logSeq": self._log_count} | ({"label": label} if label else {}) | {"message": message}
            self.new_items.append(NewEntry(PROCESS_LOG, data))

    def halt(self, reason: str, payload: Any) -> asyncio.Future[Any]:
        """End the run; further requests of the process are ignored."""
        argument: object = reason  # a process is not type-checked
        if not isinstance(argument, str) or not argument.strip():
            raise BadTask(f"ctx.halt has no reason at {caller_location()}", remedy="Give the reason as a sentence.")
        subject = ("the payload of", "ctx.halt")
        json_values.digest(payload, subject)
        # Recorded payloads have other keys than text. The process may change its own copy before it waits.
        copy = json_values.checked(json_values.to_json(payload, subject), subject)
        if not self.is_stopped:
            self.halt_request = HaltRequest(reason, copy)
            self._stop()
        return Promise(loop=self._loop)

    # ---- inside

    def _answer(self, step_id: str, request: EffectRequest, promise: Promise) -> None:
        """Resolve a recorded request, or collect a new one."""
        effect = self._recording.effects.get(step_id)
        if effect is not None:
            self._match(effect, request, promise)
        elif step_id in self._recording.passed_sleeps:
            self._match_passed_sleep(step_id, request, promise)
        elif request.sleep is not None and request.sleep.epoch_ms <= (now_ms := _epoch_ms(self._now())):
            data = {"stepId": step_id, **request.sleep.as_json(), "now": SleepTarget(now_ms).iso}
            self.new_items.append(NewEntry(notes.SLEEP_PASSED, data))
            self._clock.pass_moment(max(request.sleep.moment, SleepTarget(now_ms).moment))
            promise.set_result(None)
        else:
            self._collect(step_id, request, promise)

    def _deliver_early(self, item: Effect | RecordedHook, turn: str) -> None:
        """Resolve a request with a result that arrived before it: at once, or in the turn in which it was read."""
        if self._clock.has_reading(turn):
            self._deferred.append(item)
        elif isinstance(item, RecordedHook):
            self._hooks.deliver(item)
        else:
            self._resolve(item)

    def _resolve(self, effect: Effect) -> None:
        """Resolve the future of an effect, unless the process has cancelled it."""
        promise = self._promises.pop(effect.effect_id)
        sleep = self._sleeps.get(effect.effect_id)
        if sleep is not None and sleep.has_passed_at(effect):
            self._clock.pass_moment(sleep.moment)
        if promise.done():
            return
        result = self.store.result(effect)
        if result.status == OK:
            promise.set_result(json_values.copy_for_process(result.value))
        else:
            promise.set_exception(effects.effect_failure(result.error))

    def _match(self, effect: Effect, request: EffectRequest, promise: Promise) -> None:
        """Resolve a request with its recorded effect if both are the same, else diverge."""
        if effect.task_id != request.task_id or not self._is_same(effect, request):
            recorded = self.store.task(effect).inputs
            self._diverge_at(
                request, f"task {effect.task_id!r} with {json_values.preview(recorded)}", effect.step_id, effect.request
            )
            return
        self._note_sleep(effect.effect_id, request, lambda: self._recorded_sleep(effect))
        self._promises[effect.effect_id] = promise
        early = self._early_results.pop(effect.effect_id, None)
        if early is not None:
            self._deliver_early(early, turn_clock.after_step(effect.step_id))

    def _is_same(self, effect: Effect, request: EffectRequest) -> bool:
        """Return whether the arguments are those of the recorded effect."""
        recorded = self.store.inputs_digest(effect)
        subject = ("the arguments of task", request.task_id)
        if recorded == json_values.digest(request.inputs, subject):
            return True
        # Keys that are not strings become strings when written, and sort differently.
        written = json_values.to_json(request.inputs, subject)
        if recorded == json_values.digest(written, subject):
            return True
        earlier = self.store.task(effect).inputs
        if json_values.comparable(earlier, subject) == json_values.comparable(request.inputs, subject):
            return True
        if request.identity is None:
            return False
        return json_values.digest(request.identity(earlier), subject) == json_values.digest(
            request.identity(written), subject
        )

    def _match_passed_sleep(self, step_id: str, request: EffectRequest, promise: Promise) -> None:
        entry = self._recording.passed_sleeps[step_id]
        if request.sleep is None or request.sleep.epoch_ms != entry.data.get("targetEpochMs"):
            self._diverge_at(request, f"task {effects.SLEEP_TASK!r} until {entry.data.get('iso')}", step_id, entry)
        else:
            self._clock.pass_moment(_moment_of_passed(entry, request.sleep))
            promise.set_result(None)

    def _collect(self, step_id: str, request: EffectRequest, promise: Promise) -> None:
        """Collect the request of a new effect."""
        if json_values.without_addresses(step_id) != step_id:
            raise BadTask(
                f"the key {step_id!r} at {caller_location()} contains the address of an object",
                remedy="It differs in each replay. Use a short name, such as 'review'.",
            )
        inputs = json_values.checked(request.inputs, ("the arguments of task", request.task_id))
        key = f"{self._run.process_id}:{step_id}:{request.task_id}"
        effect_id = self.writer.new_id()
        label = _label(request.label)
        call_labels = (label,) if label else ()
        context = TaskContext(effect_id, key, request.task_id, self._run.run_id, self._run.folder, label, call_labels)
        definition = json_values.checked(request.define(context), ("the definition of task", request.task_id))
        labels = tuple(dict.fromkeys((*call_labels, *definition.get("labels", ()))))
        entry = Request(
            effect_id=effect_id,
            key=key,
            step_id=step_id,
            task_id=request.task_id,
            kind=definition["kind"],
            label=(labels[0] if labels else None) or definition.get("title") or request.task_id,
            labels=labels,
            definition=definition,
            inputs=inputs,
            blobs=context.blobs,
        )
        self.new_items.append(NewEffect(entry, promise))
        self._promises[effect_id] = promise
        self._note_sleep(effect_id, request, lambda: effects.defined_sleep(definition))

    def _note_sleep(self, effect_id: str, request: EffectRequest, defined: Callable[[], SleepTarget | None]) -> None:
        """Remember when a sleep ends: of `ctx.sleep_until`, or as the definition of a task says."""
        target = request.sleep if request.sleep is not None else defined()
        if target is not None:
            self._sleeps[effect_id] = target

    def _recorded_sleep(self, effect: Effect) -> SleepTarget | None:
        return effects.defined_sleep(self.store.task(effect).document) if effect.kind == effects.SLEEP else None

    def _diverge_at(self, request: EffectRequest, recorded: str, step_id: str, entry: Entry) -> None:
        requested = f"step {step_id} requests task {request.task_id!r} with {json_values.preview(request.inputs)}"
        self._diverge(requested, recorded, entry)

    def _diverge(self, requested: str, recorded: str, entry: Entry) -> None:
        """Stop the process here; it cannot notice."""
        self._stop_with(
            ProcessDiverged(
                f"{caller_location()}: {requested}, but the journal has {recorded} there", remedy=RESTORE, payload=entry
            )
        )

    def _stop_with(self, error: ProcessDiverged | JournalBroken) -> None:
        self.stop_error = error
        self._stop()

    def _stop(self) -> None:
        self.is_stopped = True
        self._loop.stop_permanently()


def _check_hook_type(hook_type: object) -> None:
    try:
        ids.check_id(hook_type if isinstance(hook_type, str) else "", what="the hook type")
    except UsageError as error:
        raise BadTask(f"{error.message} (at {caller_location()})", remedy=error.remedy) from error


def _check_limit(seconds: object) -> None:
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not is_number or not 0 < seconds < float("inf"):  # type: ignore[operator]  # its type was just checked
        raise BadTask(
            f"timeout_seconds of ctx.hook must be a positive number, got {shown(seconds)} at {caller_location()}",
            remedy="Give the limit in seconds, such as 30.",
        )


def _label(label: object) -> str | None:
    """Return a label as text; a process is not type-checked."""
    if label is None or isinstance(label, str):
        return label if label is None else str(clean_value(label))
    if isinstance(label, (int, float)):
        return shown(label)
    raise BadTask(
        f"a label must be text, got {type(label).__name__} at {caller_location()}", remedy="Use a short text."
    )


def _moment_of_passed(entry: Entry, target: SleepTarget) -> datetime:
    """Return the time that a sleep in the past was requested at, or its target if that is later."""
    recorded = entry.data.get("now")
    return max(target.moment, datetime.fromisoformat(recorded)) if isinstance(recorded, str) else target.moment


def _epoch_ms(time: datetime) -> int:
    return effects.sleep_target(time).epoch_ms
