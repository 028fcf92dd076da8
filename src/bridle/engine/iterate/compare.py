"""Runs a process again from its journal, with no agent, and says where it decides otherwise. Writes nothing.

Every entry is read from its own file and verified. What the process would newly ask for is no difference in a run that
can go on; in one that has ended it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.engine.iterate import iteration_report
from bridle.engine.iterate.iterate import load
from bridle.engine.process import load_process
from bridle.engine.process.load_process import Process
from bridle.engine.replay.answers import Run
from bridle.engine.replay.new_requests import Ask
from bridle.engine.replay.recorded import HookCall
from bridle.engine.replay.replay import Replay
from bridle.errors import ProcessDiverged
from bridle.journal.format import codec
from bridle.journal.format.entries import Effect, Entry
from bridle.journal.format.state import State, file_name
from bridle.journal.format.ulid import RANDOM_BYTES, next_ulid
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.view import View

# What a message shows of a value: enough to see the difference.
SHOWN_CHARACTERS = 300

BY_HAND = "manual_seal_reason"
"""Marks an end that a person gave a run, in which its process had no part."""


@dataclass(frozen=True)
class Difference:
    """One decision that is not what is recorded."""

    words: str
    """What the process does now and what is recorded, with file and line."""
    entry: str | None
    """The file of the entry that records it."""

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return {"entry": self.entry, "message": self.words}


@dataclass(frozen=True)
class Comparison:
    """What came of it."""

    run_id: str
    state: str
    entries: int
    effects: int
    """How many recorded effects the process asked for again."""
    ahead: int
    """How many it would ask for next."""
    differences: tuple[Difference, ...]
    code_changed: bool
    """Whether the file of the process is not the one that the run was last iterated with."""

    @property
    def agrees(self) -> bool:
        return not self.differences


def compare(run: Path) -> Comparison:
    """Run the process of a run again and compare each decision."""
    store = FileReader(run)
    metadata = store.metadata()
    state = View.of_files(store.place).state
    loaded = load(metadata, run)
    inputs = store.inputs()
    told = Run(str(metadata.get("runId")), str(metadata.get("processId")), str(run), {} if inputs is None else inputs)
    replay = Replay(loaded, told)
    try:
        differences = tuple(_differences(replay, loaded, store, state))
        asks = [item for item in replay.answers.news if isinstance(item, Ask) and not item.promise.cancelled()]
        known = replay.recall.code or metadata.get("processCodeHash")
        return Comparison(
            run_id=told.run_id,
            state=state.standing.state,
            entries=state.standing.seq,
            effects=sum(map(replay.answers.has_asked, state.effects.values())),
            ahead=len(asks),
            differences=differences,
            code_changed=known is not None and known != loaded.digest,
        )
    finally:
        replay.abandon()


def _differences(replay: Replay, loaded: Process, store: FileReader, state: State) -> Iterator[Difference]:
    try:
        replay.catch_up(store, _Namer(), state)
    except ProcessDiverged as error:
        entry = error.payload
        yield Difference(error.message, _name(entry) if isinstance(entry, Entry) else None)
        return
    place = f"{loaded.path}:{loaded.function.__code__.co_firstlineno}"
    asked: list[Effect | HookCall] = [*state.effects.values(), *replay.recall.hooks.values()]
    for recorded in asked:
        if not replay.answers.has_asked(recorded):
            words = f"the process does not ask for what is recorded: {_asked(recorded.request)}"
            yield Difference(f"{place}: {words}", _name(recorded.request))
    if state.standing.end is not None and state.ended is not None and BY_HAND not in state.ended.data:
        what = _ends_otherwise(replay, store, state.ended)
        if what is not None:
            yield Difference(f"{_end_place(replay, loaded) or place}: {what}", _name(state.ended))


def _ends_otherwise(replay: Replay, store: FileReader, ended: Entry) -> str | None:
    """How the end of the process differs from the recorded one; None where it does not."""
    now, recorded = _end(replay), _recorded_end(store, ended)
    if recorded["status"] == iteration_report.HALTED and now["status"] == iteration_report.WAITING:
        return None  # halted from outside, while the process was waiting
    if now["status"] == recorded["status"] == iteration_report.COMPLETED:
        identity = replay.process.output_identity
        if identity is not None and identity(now["output"]) == identity(recorded["output"]):
            return None  # the same decisions, in other words
    return None if now == recorded else f"the process {_told(now)}, but the journal says that it {_told(recorded)}"


def _end(replay: Replay) -> dict[str, Any]:
    """How the process ends now."""
    if (halt := replay.answers.halt_asked) is not None:
        return {"status": iteration_report.HALTED, "reason": halt.reason, "payload": _plain(halt.payload)}
    if replay.error is not None:
        told = iteration_report.error_document(replay.error)
        return {"status": iteration_report.FAILED, "error": f"{told['name']}: {told['message']}"}
    if not replay.returned:
        return {"status": iteration_report.WAITING, "for": len(replay.answers.pending)}
    try:
        return {"status": iteration_report.COMPLETED, "output": _plain(replay.value)}
    except (TypeError, ValueError, RecursionError) as error:
        return {"status": iteration_report.FAILED, "error": f"RunError: {iteration_report.NOT_JSON}: {error}"}


def _recorded_end(store: FileReader, ended: Entry) -> dict[str, Any]:
    data: Mapping[str, Any] = ended.data
    match ended.type:
        case "RUN_COMPLETED":
            return {"status": iteration_report.COMPLETED, "output": store.output()}
        case "RUN_HALTED":
            return {"status": iteration_report.HALTED, "reason": data.get("reason"), "payload": data.get("payload")}
    error: Any = data.get("error") or {}
    return {"status": iteration_report.FAILED, "error": f"{error.get('name')}: {error.get('message')}"}


def _told(end: Mapping[str, Any]) -> str:
    match end["status"]:
        case iteration_report.COMPLETED:
            return f"returns {_shown(end['output'])}"
        case iteration_report.FAILED:
            return f"fails with {end['error']}"
        case iteration_report.HALTED:
            return f"halts with {_shown([end['reason'], end['payload']])}"
    return f"waits for {end['for']} effects"


def _end_place(replay: Replay, loaded: Process) -> str | None:
    return load_process.place_in(replay.error, loaded.path.parent) if replay.error is not None else None


def _asked(entry: Entry) -> str:
    return " ".join(str(entry.data[name]) for name in ("stepId", "taskId", "hookId", "hookType") if name in entry.data)


def _plain(value: Any) -> Any:
    """A value as it comes back from a file."""
    return codec.parse(codec.pretty(value))


def _shown(value: Any) -> str:
    text = codec.compact(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def _name(entry: Entry) -> str:
    return file_name(entry.seq, entry.ulid)


class _Namer:
    """Gives ids to what is new, which nobody will write."""

    def __init__(self) -> None:
        self._last = ""

    def new_id(self) -> str:
        self._last = next_ulid(self._last, now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))
        return self._last
