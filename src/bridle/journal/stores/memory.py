"""A store in memory, for tests: the same guarantees except durability."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bridle.errors import InternalError, LockHeld
from bridle.ground.light.moments import iso
from bridle.journal.format import codec, documents
from bridle.journal.format.entries import (
    EFFECT_REQUESTED,
    EFFECT_RESOLVED,
    Effect,
    Entry,
    Output,
    Posted,
    Request,
    Result,
)
from bridle.journal.format.state import Position, State, fold
from bridle.journal.format.ulid import RANDOM_BYTES, next_ulid
from bridle.journal.stores.post_rules import check_unused, pending_effect
from bridle.journal.stores.store import LOCK_WAIT_SECONDS


class MemoryStore:
    """One run in memory."""

    def __init__(self, metadata: Mapping[str, object], inputs: object = None) -> None:
        self._metadata = metadata
        self._inputs = inputs
        self._texts: list[tuple[str, bytes]] = []
        self._tasks: dict[str, bytes] = {}
        self._results: dict[str, bytes] = {}
        self._texts_of: dict[str, str] = {}
        self._output: bytes | None = None
        self._turn = threading.Lock()
        self._owner = ""
        self._epoch = 0

    def metadata(self) -> Mapping[str, object]:
        return self._metadata

    def inputs(self) -> object:
        return self._inputs

    def entries(self, *, after: int = 0) -> Iterator[Entry]:
        for seq, (ulid, text) in enumerate(self._texts[after:], after + 1):
            yield codec.decode(seq, ulid, text)

    def state(self) -> State:
        return fold(self.entries())

    def position(self) -> Position:
        return self.state().position

    def task(self, effect_id: str) -> Mapping[str, object]:
        return codec.parse_object(self._tasks[effect_id])

    def inputs_digest(self, effect: Effect) -> str:
        return documents.digest_of(self.task(effect.effect_id).get("inputs"))

    def result(self, effect: Effect) -> Result:
        return documents.result_of(codec.parse_object(self._results[effect.effect_id]))

    def output(self) -> object:
        return None if self._output is None else codec.parse(self._output)

    @contextmanager
    def write(self, owner: str, *, wait_seconds: float = LOCK_WAIT_SECONDS) -> Iterator[MemoryWriter]:
        if not self._turn.acquire(timeout=wait_seconds):
            raise LockHeld(f"{self._owner} is writing to this run", remedy="Try again when it has finished.")
        try:
            self._owner = owner
            self._epoch += 1
            writer = MemoryWriter(self, self._epoch)
            try:
                yield writer
            finally:
                writer.is_over = True
        finally:
            self._turn.release()


class MemoryWriter:
    """The writer of a store in memory."""

    def __init__(self, store: MemoryStore, epoch: int) -> None:
        self.epoch = epoch
        self.state = store.state()
        self.is_over = False
        self._store = store
        self._last_id = self.state.position.ulid

    @property
    def position(self) -> Position:
        return self.state.position

    def new_id(self) -> str:
        latest = max(self._last_id, self.position.ulid)
        self._last_id = next_ulid(latest, now_ms=time.time_ns() // 1_000_000, random=os.urandom(RANDOM_BYTES))
        return self._last_id

    def append(self, entry_type: str, data: Mapping[str, object]) -> Entry:
        if self.is_over:
            raise InternalError("a writer that has released its lock cannot append")
        ulid = self.new_id()
        text = codec.encode(entry_type, iso(time.time_ns()), data)
        entry = codec.decode(self.position.seq + 1, ulid, text)
        self.state.apply(entry)
        self._store._texts.append((ulid, text))
        return entry

    def request(self, request: Request) -> Entry:
        check_unused(self.state, request)
        self._store._tasks[request.effect_id] = codec.pretty(documents.task_document(request, inputs_ref=None))
        for name, text in request.blobs.items():
            self._store._texts_of[f"tasks/{request.effect_id}/blobs/{name}"] = text.decode()
        task_ref = f"tasks/{request.effect_id}/task.json"
        return self.append(EFFECT_REQUESTED, documents.requested_data(request, task_ref=task_ref, inputs_ref=None))

    def resolve(self, effect_id: str, posted: Posted, *, key: str | None = None) -> Entry:
        documents.check_posted(posted)
        effect = pending_effect(self.state, effect_id, key=key)
        stdout, stderr = self._keep(effect_id, "stdout", posted.stdout), self._keep(effect_id, "stderr", posted.stderr)
        document = documents.result_document(effect, posted, result_ref=None, stdout_ref=stdout, stderr_ref=stderr)
        self._store._results[effect_id] = codec.pretty(document)
        result_ref = f"tasks/{effect_id}/result.json"
        data = documents.resolved_data(effect_id, posted, result_ref=result_ref, stdout_ref=stdout, stderr_ref=stderr)
        return self.append(EFFECT_RESOLVED, data)

    def write_output(self, value: object) -> str:
        self._store._output = codec.pretty(value)
        return "state/output.json"

    def _keep(self, effect_id: str, name: str, output: Output | None) -> str | None:
        if output is None or output.ref is not None:
            return None if output is None else output.ref
        ref = f"tasks/{effect_id}/{name}.log"
        self._store._texts_of[ref] = output.text or ""
        return ref
