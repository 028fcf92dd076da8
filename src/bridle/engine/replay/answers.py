"""What a process gets when it asks: the recorded result, or a promise of one that has yet to come.

What the journal has is recognised by its step and compared with what is asked. What it does not have is collected, in
the order of the program, for whoever holds the pen. Nothing here writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from bridle.engine.entries import notes
from bridle.engine.process import effects
from bridle.engine.process.define_task import TaskContext, caller_place
from bridle.engine.process.effects import EffectRequest, SleepTarget
from bridle.engine.replay import json_values
from bridle.engine.replay.event_loop import Promise, ReplayLoop
from bridle.engine.replay.new_requests import Ask, Call, Halt, Note
from bridle.engine.replay.recorded import HookCall, Recall
from bridle.engine.replay.step_ids import Steps
from bridle.errors import BadTask, ProcessDiverged, UsageError
from bridle.ground import clock, ids
from bridle.journal.format.digest import sha256
from bridle.journal.format.entries import OK, PROCESS_LOG, Effect, Entry, Request, Result

RESTORE = "Nothing was changed. Restore the code and iterate again, or start a new run."


class Run(NamedTuple):
    """What an execution must know of its run."""

    run_id: str
    process_id: str
    folder: str
    inputs: Any


class Records(Protocol):
    """What is read of a store."""

    def task(self, effect_id: str) -> Mapping[str, object]:
        """What an effect was asked for with."""
        ...

    def inputs_digest(self, effect: Effect) -> str:
        """The digest of its arguments."""
        ...

    def result(self, effect: Effect) -> Result:
        """Its result."""
        ...


class Namer(Protocol):
    """Who gives new effects their ids."""

    def new_id(self) -> str:
        """An id that is greater than all before."""
        ...


class Answers:
    """Answers one execution of a process."""

    def __init__(self, run: Run, loop: ReplayLoop, recall: Recall, now: Callable[[], datetime]) -> None:
        self.news: list[Note | Ask] = []
        """In the order of the program; whoever writes them empties the list."""
        self.halt_asked: Halt | None = None
        self.diverged: ProcessDiverged | None = None
        self.is_stopped = False
        """Whether what the process does from here on counts no more."""
        self.steps = Steps()
        self.store: Records
        self.writer: Namer
        self._run = run
        self._loop = loop
        self._recall = recall
        self._now = now
        self._promises: dict[str, Promise] = {}
        self._early: dict[str, Effect] = {}
        self._sleeps: dict[str, SleepTarget] = {}
        self._calls: dict[str, tuple[Call, Promise]] = {}
        self._early_hooks: set[str] = set()
        self._turn = self._hooks = self._words = self._ids = 0

    @property
    def pending(self) -> list[str]:
        """The ids of the effects that the process waits for, in the order in which it asked for them."""
        return [effect_id for effect_id, promise in self._promises.items() if not promise.done()]

    @property
    def due_sleeps(self) -> list[str]:
        """The sleeps among them whose moment has come, the earliest first."""
        now_ms = _epoch_ms(self._now())
        due = [(self._sleeps[one].epoch_ms, one) for one in self.pending if one in self._sleeps]
        return [effect_id for epoch_ms, effect_id in sorted(due) if epoch_ms <= now_ms]

    @property
    def next_call(self) -> Call | None:
        """The native hook that the process waits for longest."""
        return next((call for call, promise in self._calls.values() if not promise.done()), None)

    def has_asked(self, recorded: Effect | HookCall) -> bool:
        """Whether the process has come to a step, or to a call of a hook, that is recorded."""
        if isinstance(recorded, HookCall):
            return recorded.hook_id in self._calls
        return self.steps.was_taken(recorded.step_id)

    def deliver(self, item: Effect | HookCall) -> None:
        """Begin a turn: keep the promise of a result that came in."""
        self._turn += 1
        if isinstance(item, HookCall):
            self._deliver_hook(item)
            return
        promise = self._promises.pop(item.effect_id, None)
        if promise is None:
            self._early[item.effect_id] = item  # nobody has asked yet: code that was put before it runs first
        elif not promise.done():
            self._settle(promise, item)

    # ---- for the process, through its context

    def ask(self, wish: EffectRequest, key: str | None) -> asyncio.Future[Any]:
        """The promise of an effect: of the recorded one if there is one, else of a new one."""
        promise = Promise(loop=self._loop)
        if self.is_stopped:
            return promise
        step_id = self.steps.take(key)
        effect = self._recall.effects.get(step_id)
        if effect is not None:
            self._recognise(effect, wish, promise)
        elif step_id in self._recall.passed:
            self._recognise_passed(step_id, wish, promise)
        elif wish.sleep is not None and wish.sleep.epoch_ms <= (now_ms := _epoch_ms(self._now())):
            data = {"stepId": step_id, **wish.sleep.as_json(), "now": SleepTarget(now_ms).iso}
            self.news.append(Note(notes.SLEEP_PASSED, data))
            promise.set_result(None)
        else:
            self._want(step_id, wish, promise)
        return promise

    def ask_hook(self, hook_type: str, payload: Any, label: str | None, limit_seconds: float) -> asyncio.Future[Any]:
        """The promise of a hook's result: of the recorded one if there is one, else of a new call."""
        promise = Promise(loop=self._loop)
        if self.is_stopped:
            return promise
        _check_hook_type(hook_type)
        payload_digest = json_values.digest(payload, ("the payload of hook", hook_type))
        self._hooks += 1
        hook_id = f"H{self._hooks:06d}"
        recorded = self._recall.hooks.get(hook_id)
        if recorded is None:
            data = {"hookId": hook_id, "hookType": hook_type, "payloadDigest": payload_digest}
            self.news.append(Note(notes.HOOK_REQUESTED, data | ({"label": label} if label else {})))
        elif (recorded.hook_type, recorded.payload_digest) != (hook_type, payload_digest):
            more = " with another payload" if recorded.hook_type == hook_type else ""
            asked = f"hook call {hook_id} is of type {hook_type!r} with {json_values.shown(payload)}"
            self._diverge(asked, f"one of type {recorded.hook_type!r}{more}", recorded.request)
        elif hook_id in self._early_hooks:
            promise.set_result(json_values.own(recorded.result))
        self._calls[hook_id] = (Call(hook_id, hook_type, payload, label, limit_seconds), promise)
        return promise

    def read_clock(self) -> datetime:
        """The recorded time of this turn; read now where none is recorded."""
        text = self._recall.clock.get(self._turn)
        if text is None:
            text = clock.iso(self._now())
            self._recall.clock[self._turn] = text
            if not self.is_stopped:
                self.news.append(Note(notes.CLOCK_READ, {"turn": self._turn, "now": text}))
        return datetime.fromisoformat(text).astimezone(UTC)

    def next_id(self) -> str:
        """An id made of the run's and a number: 32 hexadecimal digits."""
        self._ids += 1
        return sha256(f"{self._run.run_id}:id:{self._ids}".encode())[:32]

    def log(self, label: str | None, message: str) -> None:
        """Keep a word, unless an earlier iteration has."""
        self._words += 1
        if self._words > self._recall.logged and not self.is_stopped:
            data = {"logSeq": self._words} | ({"label": label} if label else {}) | {"message": message}
            self.news.append(Note(PROCESS_LOG, data))

    def halt(self, reason: str, payload: Any) -> asyncio.Future[Any]:
        """End the run: nothing that the process does from here on counts."""
        given: object = reason  # a process is not type-checked
        if not isinstance(given, str) or not given.strip():
            raise BadTask(f"ctx.halt needs a reason at {caller_place()}", remedy="Say why, in a sentence.")
        json_values.digest(payload, ("the payload of", "ctx.halt"))
        if not self.is_stopped:
            self.halt_asked = Halt(reason, payload)
            self._stop()
        return Promise(loop=self._loop)

    # ---- inside

    def _deliver_hook(self, hook: HookCall) -> None:
        call = self._calls.get(hook.hook_id)
        if call is None:
            self._early_hooks.add(hook.hook_id)
        elif not call[1].done():
            call[1].set_result(json_values.own(hook.result))

    def _settle(self, promise: Promise, effect: Effect) -> None:
        result = self.store.result(effect)
        if result.status == OK:
            promise.set_result(json_values.own(result.value))
        else:
            promise.set_exception(effects.failure(result.error))

    def _recognise(self, effect: Effect, wish: EffectRequest, promise: Promise) -> None:
        """Take the recorded effect for what is asked, if that is what it is."""
        if effect.task_id != wish.task_id or not self._is_same(effect, wish):
            recorded = self.store.task(effect.effect_id).get("inputs")
            self._diverge_at(
                wish, f"task {effect.task_id!r} with {json_values.shown(recorded)}", effect.step_id, effect.request
            )
            return
        if wish.sleep is not None:
            self._sleeps[effect.effect_id] = wish.sleep
        early = self._early.pop(effect.effect_id, None)
        if early is not None:
            self._settle(promise, early)
        else:
            self._promises[effect.effect_id] = promise

    def _is_same(self, effect: Effect, wish: EffectRequest) -> bool:
        """Whether the arguments are those of the recorded effect."""
        recorded = self.store.inputs_digest(effect)
        what = ("the arguments of task", wish.task_id)
        if recorded == json_values.digest(wish.inputs, what):
            return True
        # Keys that are no text become text when they are written, and sort differently.
        written = json_values.copied(wish.inputs, what)
        if recorded == json_values.digest(written, what):
            return True
        if wish.identity is None:
            return False
        earlier = self.store.task(effect.effect_id).get("inputs")
        return json_values.digest(wish.identity(earlier), what) == json_values.digest(wish.identity(written), what)

    def _recognise_passed(self, step_id: str, wish: EffectRequest, promise: Promise) -> None:
        entry = self._recall.passed[step_id]
        if wish.sleep is None or wish.sleep.epoch_ms != entry.data.get("targetEpochMs"):
            self._diverge_at(wish, f"task {effects.SLEEP_TASK!r} until {entry.data.get('iso')}", step_id, entry)
        else:
            promise.set_result(None)

    def _want(self, step_id: str, wish: EffectRequest, promise: Promise) -> None:
        """Collect a new effect."""
        inputs = json_values.copied(wish.inputs, ("the arguments of task", wish.task_id))
        key = f"{self._run.process_id}:{step_id}:{wish.task_id}"
        effect_id = self.writer.new_id()
        given = (wish.label,) if wish.label else ()
        made = TaskContext(effect_id, key, wish.task_id, self._run.run_id, self._run.folder, wish.label, given)
        definition = json_values.copied(wish.define(made), ("the definition of task", wish.task_id))
        labels = tuple(dict.fromkeys((*given, *definition.get("labels", ()))))
        request = Request(
            effect_id=effect_id,
            key=key,
            step_id=step_id,
            task_id=wish.task_id,
            kind=definition["kind"],
            label=(labels[0] if labels else None) or definition.get("title") or wish.task_id,
            labels=labels,
            definition=definition,
            inputs=inputs,
            blobs=made.blobs,
        )
        self.news.append(Ask(request, promise))
        self._promises[effect_id] = promise
        if wish.sleep is not None:
            self._sleeps[effect_id] = wish.sleep

    def _diverge_at(self, wish: EffectRequest, recorded: str, step_id: str, entry: Entry) -> None:
        asked = f"step {step_id} asks for task {wish.task_id!r} with {json_values.shown(wish.inputs)}"
        self._diverge(asked, recorded, entry)

    def _diverge(self, asked: str, recorded: str, entry: Entry) -> None:
        """Stop here: the process goes no further and cannot notice."""
        self.diverged = ProcessDiverged(
            f"{caller_place()}: {asked}, but the journal has {recorded} there", remedy=RESTORE, payload=entry
        )
        self._stop()

    def _stop(self) -> None:
        self.is_stopped = True
        self._loop.stop_for_good()


def _check_hook_type(hook_type: object) -> None:
    try:
        ids.check_id(hook_type if isinstance(hook_type, str) else "", what="the hook type")
    except UsageError as error:
        raise BadTask(f"{error.message} (at {caller_place()})", remedy=error.remedy) from error


def _epoch_ms(moment: datetime) -> int:
    return effects.sleep_target(moment).epoch_ms
