"""One execution of a process against its journal.

The process runs on a loop of its own. What the journal has is given back: each result in the order in which it came
in, the loop run to rest after each. What the journal does not have is collected, in the order of the program, and kept
by whoever holds the pen once the process rests. Nothing here writes, so a replay that diverged has changed nothing.

What the process asks for depends on nothing but the results and their order; so two replays of one journal are alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from bridle.engine.process.context import Context
from bridle.engine.process.load_process import Process
from bridle.engine.replay.answers import RESTORE, Answers, Namer, Records, Run
from bridle.engine.replay.event_loop import ReplayLoop
from bridle.engine.replay.recorded import Recall
from bridle.errors import ProcessDiverged
from bridle.ground import clock
from bridle.journal.format.state import State


class Replay:
    """A process under way; `catch_up` gives it what the journal has, its answers collect what it newly asks for."""

    def __init__(self, process: Process, run: Run, *, now: Callable[[], datetime] = clock.now) -> None:
        self.process = process
        self.recall = Recall()
        self._run = run
        self._loop = ReplayLoop()
        self._main: asyncio.Task[Any] | None = None
        self.answers = Answers(run, self._loop, self.recall, now)

    def catch_up(self, store: Records, writer: Namer, state: State) -> None:
        """Take in what is new in the journal and run to rest; ProcessDiverged if the process asks otherwise."""
        answers = self.answers
        answers.store, answers.writer = store, writer
        with self.process.active(), self._loop.running():
            self.recall.learn(state)
            if self._main is None:
                context = Context(answers, self._run.run_id)
                self._main = self._loop.create_task(self.process.function(self._run.inputs, context))
                self._loop.rest()
            for item in self.recall.deliveries(state):
                if answers.is_stopped:
                    break
                answers.deliver(item)
                self._loop.rest()
        diverged = answers.diverged or (self._ended_early() if self.returned else None)
        if diverged is not None:
            raise diverged

    @property
    def returned(self) -> bool:
        """Whether the process has returned and nothing that it asked for is open."""
        main = self._main
        if main is None or not main.done() or main.cancelled() or main.exception() is not None:
            return False
        return not self.answers.pending and self.answers.next_call is None

    @property
    def value(self) -> Any:
        """What it returned."""
        assert self._main is not None  # noqa: S101  # for the type checker: asked only once it has returned
        return self._main.result()

    @property
    def error(self) -> BaseException | None:
        """What ended it, where that was an error."""
        main = self._main
        if main is None or not main.done():
            return None
        return asyncio.CancelledError("the process was cancelled from within") if main.cancelled() else main.exception()

    @property
    def remarks(self) -> list[str]:
        """Errors that nobody in the process awaited."""
        return self._loop.notes()

    def abandon(self) -> None:
        """Leave the process where it is: nothing of it runs again, not even its `finally` blocks."""
        self._loop.abandon()

    def dismiss(self) -> None:
        """End the process here and forget it; only for one that is Bridle's own and does nothing when it is ended."""
        self.answers.is_stopped = True
        with self._loop.running():
            for task in self._loop.unfinished():
                task.cancel()
            self._loop.rest()
        self._loop.abandon()

    def _ended_early(self) -> ProcessDiverged | None:
        """The error for a process that returned without asking for what is recorded."""
        for step_id, effect in self.recall.effects.items():
            if self.answers.steps.lies_ahead(step_id):
                line = self.process.function.__code__.co_firstlineno
                return ProcessDiverged(
                    f"{self.process.path}:{line}: the process returns without asking for step {step_id}, "
                    f"but the journal has task {effect.task_id!r} there",
                    remedy=RESTORE,
                    payload=effect.request,
                )
        return None
