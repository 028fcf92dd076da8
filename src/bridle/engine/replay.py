"""One execution of a process against its journal.

The process runs on a loop of its own. What the journal has is given back: each result in the order in which it came
in, the loop run to rest after each. What the journal does not have is collected, in the order of the program, and kept
by whoever holds the pen once the process rests. Nothing here writes, so a replay that diverged has changed nothing.

What the process asks for depends on nothing but the results and their order; so two replays of one journal are alike.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, TypeGuard

from bridle.engine import effects, notes
from bridle.engine.context import Context
from bridle.engine.effects import SleepTarget, Wish
from bridle.engine.loop import Promise, ReplayLoop
from bridle.engine.process import Process
from bridle.engine.recall import HookCall, Recall
from bridle.engine.tasks import TaskContext, caller_place
from bridle.errors import BadTask, ProcessDiverged
from bridle.ground import clock
from bridle.journal.documents import digest_of
from bridle.journal.entries import OK, PROCESS_LOG, Effect, Request
from bridle.journal.state import State
from bridle.journal.store import Store, Writer

# Step ids have six digits.
STEP_LIMIT = 999_999

# Room for a path or a title; the key stands in messages and in every entry.
KEY_LIMIT_CHARACTERS = 200

# What a message shows of arguments: enough to see the difference.
SHOWN_CHARACTERS = 300

_STEP_FORM = re.compile(r"S\d+")


@dataclass(frozen=True)
class Run:
    """What a replay must know of its run."""

    run_id: str
    process_id: str
    folder: str
    inputs: Any


@dataclass(frozen=True)
class Note:
    """An entry to append."""

    entry_type: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Ask:
    """An effect to request."""

    request: Request
    promise: Promise


@dataclass(frozen=True)
class Call:
    """A native hook that the process waits for."""

    hook_id: str
    hook_type: str
    payload: Any
    label: str | None
    limit_seconds: float


@dataclass(frozen=True)
class Halt:
    """The process ended its run."""

    reason: str
    payload: Any


class Replay:
    """A process under way; `catch_up` gives it what the journal has, `news` is what it wants written."""

    def __init__(self, process: Process, run: Run, *, now: Callable[[], datetime] = clock.now) -> None:
        self.process = process
        self.run = run
        self.news: list[Note | Ask] = []
        """In the order of the program; whoever writes them empties the list."""
        self.halt_asked: Halt | None = None
        self.recall = Recall()
        self._now = now
        self._loop = ReplayLoop()
        self._main: asyncio.Task[Any] | None = None
        self._store: Store
        self._writer: Writer
        self._diverged: ProcessDiverged | None = None
        self._promises: dict[str, Promise] = {}
        self._early: dict[str, Effect] = {}
        self._asked_keys: dict[str, str] = {}
        self._taken_steps: set[str] = set()
        self._sleeps: dict[str, SleepTarget] = {}
        self._calls: dict[str, tuple[Call, Promise]] = {}
        self._turn = self._steps = self._hooks = self._words = self._ids = 0

    # ---- for whoever holds the pen

    def catch_up(self, store: Store, writer: Writer, state: State) -> None:
        """Take in what is new in the journal and run to rest; ProcessDiverged if the process asks otherwise."""
        self._store, self._writer = store, writer
        with self.process.active(), self._loop.running():
            self.recall.learn(state)
            if self._main is None:
                context = Context(self, self.run.run_id)
                self._main = self._loop.create_task(self.process.function(self.run.inputs, context))
                self._loop.rest()
            for item in self.recall.deliveries(state):
                if self._diverged is not None or self.halt_asked is not None:
                    break
                self._turn += 1
                self._deliver(item)
                self._loop.rest()
        if self._diverged is None and self.returned:
            self._diverged = self._ended_early()
        if self._diverged is not None:
            raise self._diverged

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

    @property
    def returned(self) -> bool:
        """Whether the process has returned and nothing that it asked for is open."""
        main = self._main
        return self._is_over(main) and main.exception() is None and not self.pending and self.next_call is None

    @property
    def value(self) -> Any:
        """What it returned."""
        assert self._main is not None  # noqa: S101  # for the type checker: asked only once it has returned
        return self._main.result()

    @property
    def error(self) -> BaseException | None:
        """What ended it, where that was an error."""
        main = self._main
        if main is not None and main.done() and main.cancelled():
            return asyncio.CancelledError("the process was cancelled from within")
        return main.exception() if main is not None and main.done() else None

    @property
    def remarks(self) -> list[str]:
        """Errors that nobody in the process awaited."""
        return self._loop.notes()

    def abandon(self) -> None:
        """Leave the process where it is: nothing of it runs again, not even its `finally` blocks."""
        self._loop.abandon()

    # ---- for the process, through its context

    def ask(self, wish: Wish, key: str | None) -> asyncio.Future[Any]:
        """The promise of an effect: of the recorded one if there is one, else of a new one."""
        promise = Promise(loop=self._loop)
        if self._is_stopped:
            return promise
        step_id = self._step_id(key)
        effect = self.recall.effects.get(step_id)
        if effect is not None:
            self._recognise(effect, wish, promise)
        elif step_id in self.recall.passed:
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
        if self._is_stopped:
            return promise
        self._hooks += 1
        hook_id, payload_digest = f"H{self._hooks:06d}", _digest(payload, ("the payload of hook", hook_type))
        recorded = self.recall.hooks.get(hook_id)
        if recorded is None:
            data = {"hookId": hook_id, "hookType": hook_type, "payloadDigest": payload_digest}
            self.news.append(Note(notes.HOOK_REQUESTED, data | ({"label": label} if label else {})))
        elif (recorded.hook_type, recorded.payload_digest) != (hook_type, payload_digest):
            self._diverge(
                f"hook call {hook_id} is of type {hook_type!r} with {_shown(payload)}",
                f"of type {recorded.hook_type!r}"
                + (" with another payload" if recorded.hook_type == hook_type else ""),
            )
        self._calls[hook_id] = (Call(hook_id, hook_type, payload, label, limit_seconds), promise)
        return promise

    def read_clock(self) -> datetime:
        """The recorded time of this turn; read now where none is recorded."""
        text = self.recall.clock.get(self._turn)
        if text is None:
            text = clock.iso(self._now())
            self.recall.clock[self._turn] = text
            if not self._is_stopped:
                self.news.append(Note(notes.CLOCK_READ, {"turn": self._turn, "now": text}))
        return datetime.fromisoformat(text).astimezone(UTC)

    def next_id(self) -> str:
        """An id made of the run's and a number: 32 hexadecimal digits."""
        self._ids += 1
        return sha256(f"{self.run.run_id}:id:{self._ids}".encode()).hexdigest()[:32]

    def log(self, label: str | None, message: str) -> None:
        """Keep a word, unless an earlier iteration has."""
        self._words += 1
        if self._words > self.recall.logged and not self._is_stopped:
            data = {"logSeq": self._words} | ({"label": label} if label else {}) | {"message": message}
            self.news.append(Note(PROCESS_LOG, data))

    def halt(self, reason: str, payload: Any) -> asyncio.Future[Any]:
        """End the run: nothing that the process does from here on counts."""
        given: object = reason  # a process is not type-checked
        if not isinstance(given, str) or not given.strip():
            raise BadTask(f"ctx.halt needs a reason at {caller_place()}", remedy="Say why, in a sentence.")
        _digest(payload, ("the payload of", "ctx.halt"))
        if not self._is_stopped:
            self.halt_asked = Halt(reason, payload)
            self._loop.stop_for_good()
        return Promise(loop=self._loop)

    # ---- inside

    @property
    def _is_stopped(self) -> bool:
        return self._diverged is not None or self.halt_asked is not None

    @staticmethod
    def _is_over(main: asyncio.Task[Any] | None) -> TypeGuard[asyncio.Task[Any]]:
        return main is not None and main.done() and not main.cancelled()

    def _deliver(self, item: Effect | HookCall) -> None:
        if isinstance(item, HookCall):
            call = self._calls.get(item.hook_id)
            if call is not None and not call[1].done():
                call[1].set_result(item.result)
            return
        promise = self._promises.pop(item.effect_id, None)
        if promise is None:
            self._early[item.effect_id] = item  # nobody has asked yet: code that was put before it runs first
        elif not promise.done():
            self._settle(promise, item)

    def _settle(self, promise: Promise, effect: Effect) -> None:
        result = self._store.result(effect)
        if result.status == OK:
            promise.set_result(_own(result.value))
        else:
            promise.set_exception(effects.failure(result.error))

    def _step_id(self, key: str | None) -> str:
        if key is None:
            self._steps += 1
            if self._steps > STEP_LIMIT:
                raise BadTask(f"a process has at most {STEP_LIMIT:,} steps", remedy="Start another run for the rest.")
            return f"S{self._steps:06d}"
        place = caller_place()
        _check_key(key, place)
        first = self._asked_keys.setdefault(key, place)
        if first is not place:
            raise BadTask(
                f"the key {key!r} is used a second time at {place}, after {first}", remedy="Give each step its own key."
            )
        return key

    def _recognise(self, effect: Effect, wish: Wish, promise: Promise) -> None:
        """Take the recorded effect for what is asked, if that is what it is."""
        if effect.task_id != wish.task_id or not self._is_same(effect, wish):
            recorded = self._store.task(effect.effect_id).get("inputs")
            self._diverge_at(effect.step_id, wish, f"task {effect.task_id!r} with {_shown(recorded)}")
            return
        if wish.sleep is not None:
            self._sleeps[effect.effect_id] = wish.sleep
        early = self._early.pop(effect.effect_id, None)
        if early is not None:
            self._settle(promise, early)
        else:
            self._promises[effect.effect_id] = promise

    def _is_same(self, effect: Effect, wish: Wish) -> bool:
        """Whether the arguments are those of the recorded effect."""
        recorded = self._store.inputs_digest(effect)
        what = ("the arguments of task", wish.task_id)
        # Keys that are no text become text when they are written, and sort differently.
        return recorded == _digest(wish.inputs, what) or recorded == _digest(_copied(wish.inputs, what), what)

    def _recognise_passed(self, step_id: str, wish: Wish, promise: Promise) -> None:
        recorded = self.recall.passed[step_id].data
        if wish.sleep is None or wish.sleep.epoch_ms != recorded.get("targetEpochMs"):
            self._diverge_at(step_id, wish, f"task {effects.SLEEP_TASK!r} until {recorded.get('iso')}")
        else:
            promise.set_result(None)

    def _want(self, step_id: str, wish: Wish, promise: Promise) -> None:
        """Collect a new effect."""
        inputs = _copied(wish.inputs, ("the arguments of task", wish.task_id))
        key = f"{self.run.process_id}:{step_id}:{wish.task_id}"
        effect_id = self._writer.new_id()
        given = (wish.label,) if wish.label else ()
        made = TaskContext(effect_id, key, wish.task_id, self.run.run_id, self.run.folder, wish.label, given)
        definition = _copied(wish.define(made), ("the definition of task", wish.task_id))
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

    def _diverge_at(self, step_id: str, wish: Wish, recorded: str) -> None:
        self._diverge(f"step {step_id} asks for task {wish.task_id!r} with {_shown(wish.inputs)}", recorded)

    def _diverge(self, asked: str, recorded: str) -> None:
        """Stop here: the process goes no further and cannot notice."""
        self._diverged = ProcessDiverged(
            f"{caller_place()}: {asked}, but the journal has {recorded} there",
            remedy="Nothing was changed. Restore the code and iterate again, or start a new run.",
        )
        self._loop.stop_for_good()

    def _ended_early(self) -> ProcessDiverged | None:
        """The error for a process that returned without asking for what is recorded."""
        for step_id, effect in self.recall.effects.items():
            if _STEP_FORM.fullmatch(step_id) and int(step_id[1:]) > self._steps:
                line = self.process.function.__code__.co_firstlineno
                return ProcessDiverged(
                    f"{self.process.path}:{line}: the process returns without asking for step {step_id}, "
                    f"but the journal has task {effect.task_id!r} there",
                    remedy="Nothing was changed. Restore the code and iterate again, or start a new run.",
                )
        return None


def _check_key(key: object, place: str) -> None:
    fault = None
    if not isinstance(key, str):
        fault = "is not text"
    elif not key.strip():
        fault = "is empty"
    elif len(key) > KEY_LIMIT_CHARACTERS:
        fault = f"is longer than {KEY_LIMIT_CHARACTERS} characters"
    elif not key.isprintable():
        fault = "has characters that cannot be shown"
    elif _STEP_FORM.fullmatch(key):
        fault = "looks like the number of a step"
    if fault is not None:
        raise BadTask(f"the key {key!r} at {place} {fault}", remedy="Use a short name, such as 'review'.")


def _epoch_ms(moment: datetime) -> int:
    return effects.sleep_target(moment).epoch_ms


def _digest(value: Any, what: tuple[str, str]) -> str:
    try:
        return digest_of(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_json(what, error) from error


def _copied(value: Any, what: tuple[str, str]) -> Any:
    """The value as JSON gives it back: what the process does to its own copy later changes nothing."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise _not_json(what, error) from error


def _own(value: Any) -> Any:
    """A copy for the process, which may change what it is given."""
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    return [_own(item) for item in value] if isinstance(value, list) else value


def _not_json(what: tuple[str, str], error: Exception) -> BadTask:
    return BadTask(
        f"{what[0]} {what[1]!r} cannot be written as JSON at {caller_place(depth=3)}: {error}",
        remedy="Use text, numbers, true and false, None, lists and dicts.",
    )


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
