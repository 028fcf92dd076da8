"""Replay a process against its journal, without agents, and report every difference. Writes nothing.

Every entry and every file that one refers to is read and verified. New requests of the process are differences only in
a run that has ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.engine.iterate import iteration_report
from bridle.engine.iterate.iterate import load
from bridle.engine.iterate.iteration_report import Failure
from bridle.engine.process import load_process
from bridle.engine.process.effects import NO_MESSAGE
from bridle.engine.process.load_process import Process
from bridle.engine.replay import json_values
from bridle.engine.replay.answers import Run
from bridle.engine.replay.new_requests import NewEffect
from bridle.engine.replay.recorded import RecordedHook
from bridle.engine.replay.replay import Replay
from bridle.errors import EffectFailed, Error, ProcessDiverged, RunError
from bridle.ground.json_fields import JsonFields
from bridle.ground.ulid import RANDOM_BYTES, next_ulid
from bridle.journal.format import codec
from bridle.journal.format.entries import RUN_COMPLETED, Effect, Entry
from bridle.journal.format.state import State, file_name
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.view import View

# Enough of a value to see a difference in a message.
SHOWN_CHARACTERS = 300

MANUAL_END = "manual_seal_reason"
"""The field of an end that a user recorded manually, without the process."""


class Difference(Struct, frozen=True):
    """One difference between the process and its journal."""

    message: str
    """What the process does and what is recorded, with file and line."""
    entry: str | None
    """The file of the recorded entry."""

    def as_json(self) -> dict[str, Any]:
        return {"entry": self.entry, "message": self.message}


class Comparison(Struct, frozen=True):
    """The result of a comparison."""

    run_id: str
    state: str
    entries: int
    effects: int
    """How many recorded effects the process requested again."""
    ahead: int
    """How many new effects it would request."""
    differences: tuple[Difference, ...]
    code_changed: bool
    """Whether the process file has changed since the last iteration."""

    @property
    def agrees(self) -> bool:
        return not self.differences


def compare(run: Path) -> Comparison:
    """Replay the process of a run and compare each request."""
    store = FileReader(run)
    metadata = store.metadata()
    state = View.of_files(store.place).state
    store.verify_files(state)  # else a changed file looks like a changed process
    inputs = store.inputs(state.created)
    process = load(metadata, run)
    subject = Run(metadata.run_id, metadata.process_id, str(run), {} if inputs is None else inputs)
    replay = Replay(process, subject)
    try:
        differences = tuple(_differences(replay, process, store, state))
        new = [
            item for item in replay.answers.new_items if isinstance(item, NewEffect) and not item.promise.cancelled()
        ]
        previous_digest = replay.recording.code_digest or metadata.code_digest
        return Comparison(
            run_id=subject.run_id,
            state=state.position.state,
            entries=state.position.seq,
            effects=sum(map(replay.answers.was_requested, state.effects.values())),
            ahead=len(new),
            differences=differences,
            code_changed=previous_digest is not None and previous_digest != process.digest,
        )
    finally:
        replay.abandon()


class _End(Struct, frozen=True):
    """How a process ends."""

    status: str
    value: Any = None
    """The output, the reason and payload of a halt, or the number of pending effects."""
    failure: Failure | None = None
    """The error of a failed process, without its stack."""

    @property
    def name(self) -> str | None:
        return None if self.failure is None else self.failure.name

    def __str__(self) -> str:
        match self.status:
            case iteration_report.COMPLETED:
                return f"returns {_preview(self.value)}"
            case iteration_report.FAILED:
                return f"fails with {self.failure}"
            case iteration_report.HALTED:
                return f"halts with {_preview(self.value)}"
        return f"waits for {self.value} {'effect' if self.value == 1 else 'effects'}"


def _differences(replay: Replay, process: Process, store: FileReader, state: State) -> Iterator[Difference]:
    try:
        replay.catch_up(store, _NewIds(), state)
    except ProcessDiverged as error:
        entry = error.payload
        yield Difference(error.message, _name(entry) if isinstance(entry, Entry) else None)
        return
    location = f"{process.path}:{process.function.__code__.co_firstlineno}"
    requests: list[Effect | RecordedHook] = [*state.effects.values(), *replay.recording.hooks.values()]
    for recorded in requests:
        if not replay.answers.was_requested(recorded):
            message = f"the process does not request what is recorded: {_describe_request(recorded.request)}"
            yield Difference(f"{location}: {message}", _name(recorded.request))
    if state.position.end is not None and state.ended is not None and MANUAL_END not in state.ended.data:
        now = _present_end(replay, checks_depth=state.ended.type != RUN_COMPLETED)  # earlier versions had no limit
        then = _recorded_end(store, state.ended)
        if not _is_same_end(now, then, replay):
            error_location = load_process.location_in(replay.error, process.path.parent) if replay.error else None
            message = f"the process {now}, but the journal records that it {then}"
            yield Difference(f"{error_location or location}: {message}", _name(state.ended))


def _is_same_end(now: _End, recorded: _End, replay: Replay) -> bool:
    if recorded.status == iteration_report.HALTED and now.status == iteration_report.WAITING:
        return True  # halted from outside, while the process was waiting
    identity = replay.process.output_identity
    if now.status == recorded.status == iteration_report.COMPLETED and identity is not None:
        inputs = replay.inputs
        return bool(identity(inputs, now.value) == identity(inputs, recorded.value))
    error = replay.error
    is_own_text = error.message == NO_MESSAGE if isinstance(error, EffectFailed) else isinstance(error, Error)
    if is_own_text:  # the wording of Bridle's own messages may change
        return now.status == recorded.status and now.name == recorded.name
    if now == recorded:
        return True
    if now.status != recorded.status or now.failure is not None or recorded.failure is not None:
        return now.status == recorded.status and _is_same_failure(now.failure, recorded.failure)
    subject = ("the end of", "the process")
    return json_values.comparable(now.value, subject) == json_values.comparable(recorded.value, subject)


def _is_same_failure(now: Failure | None, recorded: Failure | None) -> bool:
    return now is not None and recorded is not None and now.is_same(recorded)


def _present_end(replay: Replay, *, checks_depth: bool) -> _End:
    if (halt := replay.answers.halt_request) is not None:
        return _End(iteration_report.HALTED, [halt.reason, _from_json(halt.payload)])
    if replay.error is not None:
        return _failed_end(Failure.of(replay.error))
    if not replay.has_returned:
        return _End(iteration_report.WAITING, len(replay.answers.pending))
    try:
        if checks_depth:
            iteration_report.check_depth(replay.value)
        return _End(iteration_report.COMPLETED, _from_json(replay.value))
    except (TypeError, ValueError, RecursionError, codec.BadText) as error:
        return _failed_end(Failure(RunError.__name__, f"{iteration_report.NOT_JSON}: {error}"))


def _recorded_end(store: FileReader, ended: Entry) -> _End:
    data = JsonFields(ended.data)
    match ended.type:
        case "RUN_COMPLETED":
            return _End(iteration_report.COMPLETED, store.output(ended))
        case "RUN_HALTED":
            return _End(iteration_report.HALTED, [data.value("reason"), data.value("payload")])
    return _failed_end(Failure.from_json(data.value("error")))


def _failed_end(failure: Failure) -> _End:
    """Return the end of a failed process; the stack is not compared."""
    return _End(iteration_report.FAILED, failure=Failure(failure.name, failure.message))


def _describe_request(entry: Entry) -> str:
    return " ".join(str(entry.data[name]) for name in ("stepId", "taskId", "hookId", "hookType") if name in entry.data)


def _from_json(value: Any) -> Any:
    """Return a value as it would be read from a file."""
    return codec.parse(codec.pretty(value))


def _preview(value: Any) -> str:
    text = codec.compact(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _name(entry: Entry) -> str:
    return file_name(entry.seq, entry.ulid)


class _NewIds:
    """Ids for new requests, which are not written."""

    def __init__(self) -> None:
        self._last = ""

    def new_id(self) -> str:
        self._last = next_ulid(self._last, now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))
        return self._last
