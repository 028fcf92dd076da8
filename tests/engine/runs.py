"""Runs of processes for the tests of the engine: a folder, a process, a clock that moves when it is told to."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import Engine, iterate
from bridle.engine.iterate.iteration_report import Iteration
from bridle.journal.format import layout
from bridle.journal.format.entries import ERROR, OK, Effect, Entry, Posted
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.memory import MemoryStore
from bridle.journal.stores.store import Store

STAMP = "2030-01-01T12:00:00.000Z"
PROOF = "0123456789abcdef0123456789abcdef"
PREAMBLE = """\
import asyncio
from datetime import datetime, timedelta

from bridle import EffectFailed, define_task

step = define_task("step", lambda args, task: {"kind": "agent", "title": "Step", "agent": {"prompt": str(args)}})
other = define_task("other", lambda args, task: {"kind": "shell", "title": "Other", "shell": {"command": "true"}})

"""


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def move(self, **by: float) -> None:
        self.moment += timedelta(**by)


class Bench:
    """One run of a process, with everything that happens around it done by hand."""

    def __init__(self, folder: Path, source: str, *, inputs: Any = None, in_memory: bool = False) -> None:
        self.folder = folder
        self.process = folder / "process.py"
        self.write(source)
        self.clock = Clock()
        self.run = folder / ".a5c" / "runs" / "r1"
        self.store: Store = self._memory(inputs) if in_memory else self._files(inputs)
        self.hooks = Hooks(folder, dict(os.environ))

    def write(self, source: str) -> None:
        """The process, with the imports that every one needs before it."""
        self.process.write_text(PREAMBLE + textwrap.dedent(source), encoding="utf-8")

    def engine(self) -> Engine:
        return Engine(self.store, self.run, self.hooks, now=self.clock)

    def iterate(self) -> Iteration:
        return iterate(self.store, self.run, self.hooks, now=self.clock)

    def post(self, step: str, value: Any = None) -> Entry:
        return self._resolve(step, Posted(OK, value=value, started_at=STAMP, finished_at=STAMP))

    def fail(self, step: str, error: Mapping[str, object]) -> Entry:
        return self._resolve(step, Posted(ERROR, error=error, started_at=STAMP, finished_at=STAMP))

    def effect(self, step: str) -> Effect:
        """The effect of a step; `2` is short for `S000002`."""
        step_id = f"S{int(step):06d}" if step.isdigit() else step
        return next(effect for effect in self.store.state().effects.values() if effect.step_id == step_id)

    def entries(self) -> list[Entry]:
        return list(self.store.entries())

    def types(self) -> list[str]:
        """The types of all entries but the first, which creates the run."""
        return [entry.type for entry in self.entries()[1:]]

    def _resolve(self, step: str, posted: Posted) -> Entry:
        with self.store.write("the test") as writer:
            return writer.resolve(self.effect(step).effect_id, posted)

    def _digest(self) -> str:
        return sha256(self.process.read_bytes()).hexdigest()

    def _files(self, inputs: Any) -> FileStore:
        new = NewRun(
            run_id="r1",
            process_id="demo",
            entry=self.process,
            has_inputs=inputs is not None,
            inputs=inputs,
            code_digest=self._digest(),
        )
        ulid = "01M7EB7CMR70YKMF11ERZ6H9P6"
        return FileStore(create_run(self.run.parent, new, proof=PROOF, ulid=ulid, created_at=STAMP))

    def _memory(self, inputs: Any) -> MemoryStore:
        self.run.mkdir(parents=True)
        entrypoint = {"importPath": "../../../process.py", "exportName": "process"}
        metadata = {"runId": "r1", "processId": "demo", "entrypoint": entrypoint, "processCodeHash": self._digest()}
        store = MemoryStore({**metadata, "layoutVersion": layout.LAYOUT_VERSION, "completionProof": PROOF}, inputs)
        with store.write("the test") as writer:
            writer.append("RUN_CREATED", {**metadata})
        return store
