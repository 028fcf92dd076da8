"""One iteration of a run: replay its process, keep what it newly asks for, say what is to be done next.

A turn at the journal is held while the process runs, and is given back while hooks run: they may take long, and may
post results themselves. A lock of its own lets one iteration at a time at a run, so that a hook of the process runs
once.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.engine import hooks, iteration, notes, process
from bridle.engine.effects import BREAKPOINT
from bridle.engine.hooks import Fired, Hooks
from bridle.engine.iteration import Iteration
from bridle.engine.replay import Ask, Call, Replay, Run
from bridle.errors import EffectFailed, JournalBroken, RunError
from bridle.ground import clock
from bridle.ground.lock import FileLock
from bridle.journal import layout
from bridle.journal.entries import OK, RUN_COMPLETED, RUN_FAILED, RUN_HALTED, Effect, Posted
from bridle.journal.proof import completion_proof
from bridle.journal.state import State
from bridle.journal.store import TURN_WAIT_SECONDS, Store, Writer

OWNER = "run:iterate"
LOCK_FILE = "bridle-iterate.lock"

# What is kept of a traceback: the calls around the error. The whole of a deep recursion helps nobody.
STACK_FRAMES = 20


class Engine:
    """Iterates one run. Kept between iterations it goes on where the process rests, instead of from the start."""

    def __init__(
        self, store: Store, folder: Path, run_hooks: Hooks, *, now: Callable[[], datetime] = clock.now
    ) -> None:
        self._store = store
        self._folder = folder
        self._hooks = run_hooks
        self._now = now
        self._replay: Replay | None = None
        self._journal_id: str | None = None
        self._fired: list[Fired] = []
        self._requested: list[Effect] = []

    def iterate(self) -> Iteration:
        """Replay, keep, answer. Not to be called on a thread whose event loop is running."""
        self._fired, self._requested = [], []
        state = self._store.state()
        if state.standing.end in (iteration.COMPLETED, iteration.HALTED):
            return self._answer_ended(state)
        began = self._now()
        number = _number(state)
        self._fire(
            hooks.ON_ITERATION_START, {"runId": self._run_id, "iteration": number, "state": state.standing.state}
        )
        path = self._folder / LOCK_FILE
        with FileLock.hold(path, holder=OWNER, wait_seconds=TURN_WAIT_SECONDS):
            found = self._run_to_the_end(number)
        return self._tell(found, began)

    def close(self) -> None:
        """Leave the process where it is; nothing of it runs again."""
        if self._replay is not None:
            self._replay.abandon()
            self._replay = None

    # ---- the turns

    def _run_to_the_end(self, number: int) -> Iteration:
        """Take turns until the process waits for nothing that can be had at once."""
        ran: tuple[Call, Fired] | None = None
        while True:
            with self._store.write(OWNER) as writer:
                if writer.standing.end in (iteration.COMPLETED, iteration.HALTED):
                    return self._answer_ended(writer.state)
                if ran is not None:
                    writer.append(notes.HOOK_RESOLVED, {"hookId": ran[0].hook_id, "result": ran[1].as_json()})
                replay = self._caught_up(writer)
                call = None if replay.halt_asked else replay.next_call
                if call is None:
                    return self._conclude(replay, writer, number)
            payload = call.payload if isinstance(call.payload, Mapping) else {"payload": call.payload}
            fired = self._fire(call.hook_type, {**payload, "runId": self._run_id}, limit_seconds=call.limit_seconds)
            ran = (call, fired)

    def _caught_up(self, writer: Writer) -> Replay:
        """The process at rest, with everything that it asked for kept and every sleep ended that is over."""
        replay = self._current_replay(writer)
        replay.catch_up(self._store, writer)
        self._keep(replay, writer)
        while not replay.halt_asked and (due := replay.due_sleeps):
            for effect_id in due:
                stamp = clock.iso(self._now())
                writer.resolve(effect_id, Posted(OK, value=None, started_at=stamp, finished_at=stamp))
            replay.catch_up(self._store, writer)
            self._keep(replay, writer)
        return replay

    def _current_replay(self, writer: Writer) -> Replay:
        """The one under way if its files and its journal are still the same; else a new one from the start."""
        created = writer.state.created
        journal_id = created.ulid if created is not None else None
        replay = self._replay
        if replay is not None and replay.process.is_current() and journal_id == self._journal_id:
            return replay
        self.close()
        loaded = process.load(*_entry(self._store.metadata(), self._folder))
        inputs = self._store.inputs()
        run = Run(self._run_id, self._process_id, str(self._folder), {} if inputs is None else inputs)
        self._replay, self._journal_id = Replay(loaded, run, now=self._now), journal_id
        return self._replay

    def _keep(self, replay: Replay, writer: Writer) -> None:
        """Write what the process newly asked for, in the order of the program."""
        known = replay.recall.code or self._store.metadata().get("processCodeHash")
        if known != replay.process.digest:
            note = {"sha256": replay.process.digest} | ({"previous": known} if known else {})
            writer.append(notes.PROCESS_CODE, note)
        for item in replay.news:
            if not isinstance(item, Ask):
                writer.append(item.entry_type, item.data)
            elif not item.promise.cancelled():  # asked for and given up within one turn: nobody wants it
                writer.request(item.request)
                self._requested.append(writer.state.effects[item.request.effect_id])
        replay.news.clear()
        replay.recall.learn(writer.state)

    # ---- the answers

    def _conclude(self, replay: Replay, writer: Writer, number: int) -> Iteration:
        """Write the end of the run if this is it, and say where it stands."""
        remarks = tuple(replay.remarks)
        if (halt := replay.halt_asked) is not None:
            data = {"reason": halt.reason} | ({"payload": halt.payload} if halt.payload is not None else {})
            writer.append(RUN_HALTED, data)
            self.close()
            return self._answer(number, iteration.HALTED, halt.reason, remarks=remarks)
        if replay.error is None and replay.returned:
            return self._completed(replay, writer, number, remarks)
        if replay.error is not None:
            return self._failed(replay.error, writer, number, remarks)
        effects = writer.state.effects
        actions = iteration.next_actions(self._store, (effects[effect_id] for effect_id in replay.pending))
        status, reason = iteration.standing(actions)
        return self._answer(number, status, reason, actions=actions, remarks=remarks)

    def _completed(self, replay: Replay, writer: Writer, number: int, remarks: tuple[str, ...]) -> Iteration:
        try:
            output_ref = writer.keep_output(replay.value)
        except (TypeError, ValueError, RecursionError) as error:
            fault = RunError(f"what the process returned cannot be written as JSON: {error}")
            return self._failed(fault, writer, number, remarks)
        writer.append(RUN_COMPLETED, {"outputRef": output_ref})
        self.close()
        return self._answer_completed(number, remarks)

    def _failed(self, error: BaseException, writer: Writer, number: int, remarks: tuple[str, ...]) -> Iteration:
        self.close()
        told = _told(error)
        ended = writer.state.ended
        before = ended.data.get("error") if ended is not None and writer.standing.end == iteration.FAILED else None
        if not (isinstance(before, Mapping) and _same_error(before, told)):
            writer.append(RUN_FAILED, {"error": told})
        return self._answer(number, iteration.FAILED, "failed", error=told, remarks=remarks)

    def _answer_ended(self, state: State) -> Iteration:
        """The same answer again for a run that has completed or was halted."""
        if state.standing.end == iteration.COMPLETED:
            return self._answer_completed(_number(state), ())
        reason = state.ended.data.get("reason") if state.ended is not None else None
        return self._answer(_number(state), iteration.HALTED, str(reason or "halted"))

    def _answer_completed(self, number: int, remarks: tuple[str, ...]) -> Iteration:
        proof = completion_proof(self._store.metadata())
        return self._answer(
            number,
            iteration.COMPLETED,
            "completed",
            completion_proof=proof,
            output=self._store.output(),
            remarks=remarks,
        )

    def _answer(self, number: int, status: str, reason: str, **more: Any) -> Iteration:
        return Iteration(self._run_id, self._process_id, number, status, reason, **more)

    # ---- the hooks

    def _fire(self, hook_type: str, payload: Mapping[str, Any], *, limit_seconds: float | None = None) -> Fired:
        """Run the hooks of a type, if there are any; nothing heavy is imported where there are none."""
        if not self._hooks.enabled or not self._hooks.scripts(hook_type):
            fired = Fired(hook_type, is_off=not self._hooks.enabled)
        else:
            import asyncio

            fired = asyncio.run(self._hooks.fire(hook_type, payload, limit_seconds=limit_seconds))
        self._fired.append(fired)
        return fired

    def _tell(self, found: Iteration, began: datetime) -> Iteration:
        """Let the hooks know what happened, in the order in which it did."""
        for effect in self._requested:
            told = {"runId": self._run_id, **effect.request.data}
            self._fire(hooks.ON_STEP_DISPATCH, told)
            if effect.kind == BREAKPOINT and self._hooks.scripts(hooks.ON_BREAKPOINT):
                self._fire(hooks.ON_BREAKPOINT, {**told, **_question(self._store.task(effect.effect_id))})
        took_ms = round((self._now() - began).total_seconds() * 1000)
        ended = {"runId": self._run_id, "status": found.status, "duration": took_ms}
        if found.status == iteration.COMPLETED:
            self._fire(hooks.ON_RUN_COMPLETE, {**ended, "output": found.output})
        elif found.status == iteration.FAILED:
            self._fire(hooks.ON_RUN_FAIL, {**ended, "error": (found.error or {}).get("message")})
        document = found.as_json()
        told = {key: document[key] for key in ("iteration", "status", "action", "reason", "count") if key in document}
        self._fire(hooks.ON_ITERATION_END, {"runId": self._run_id, **told})
        remarks = (*found.remarks, *_remarks(self._fired))
        return replace(found, remarks=remarks, hook_status=_hook_status(self._fired))

    # ---- what the run was created with

    @property
    def _run_id(self) -> str:
        return str(self._store.metadata().get("runId"))

    @property
    def _process_id(self) -> str:
        return str(self._store.metadata().get("processId"))


def _entry(metadata: Mapping[str, object], folder: Path) -> tuple[Path, str]:
    """Where the process of a run is; its path is relative to the run's folder."""
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
    return Path(os.path.normpath(folder.resolve() / path)), str(export or process.DEFAULT_EXPORT)


def _number(state: State) -> int:
    """How many iterations changed the run, with the one that takes in what came in since the last."""
    resolved = [effect.resolution.seq for effect in state.resolved if effect.resolution is not None]
    groups, seen, position = 0, -1, 0
    for effect in state.effects.values():
        while position < len(resolved) and resolved[position] < effect.request.seq:
            position += 1
        if position != seen:
            groups, seen = groups + 1, position
    return groups + 1 if not groups or len(resolved) > seen else groups


def _told(error: BaseException) -> dict[str, Any]:
    """An error as the journal keeps it."""
    name, message = type(error).__name__, str(error)
    told: dict[str, Any] = {}
    if isinstance(error, EffectFailed):
        name, message = error.name, error.message
        told = {} if error.data is None else {"data": error.data}
    frames = traceback.extract_tb(error.__traceback__)[-STACK_FRAMES:]
    own = [frame for frame in frames if not frame.filename.startswith(str(Path(__file__).parent))]
    stack = "".join([*traceback.format_list(own), f"{name}: {message}"])
    return {"name": name, "message": message, "stack": stack} | told


def _same_error(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (one.get("name"), one.get("message")) == (other.get("name"), other.get("message"))


def _question(task: Mapping[str, Any]) -> dict[str, Any]:
    """What a breakpoint asks, as its hook gets it."""
    metadata = task.get("metadata")
    return {"payload": metadata.get("payload")} if isinstance(metadata, Mapping) else {}


def _remarks(fired: Iterable[Fired]) -> Iterator[str]:
    places = dict.fromkeys(one.untrusted for one in fired if one.untrusted is not None)
    yield from (f"the hooks in {place}/.a5c/hooks did not run: `bridle doctor --trust` lets them" for place in places)
    for one in fired:
        yield from one.faults


def _hook_status(fired: Iterable[Fired]) -> str:
    statuses = {one.status for one in fired}
    return next(
        (status for status in ("error", "executed", "untrusted", "skipped") if status in statuses),
        "no-hooks-configured",
    )
