"""One execution of a process against its journal.

The process runs on its own event loop. Recorded results are delivered in journal order, and the loop runs until idle
after each. New requests are collected in program order; the caller writes them once the process is idle. Nothing here
writes, so a replay that diverged has changed nothing.

The requests of a process depend only on the results and their order, so two replays of one journal are identical.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any

from bridle.engine.process.context import Context
from bridle.engine.process.load_process import Process
from bridle.engine.replay.answers import RESTORE, Answers, IdSource, RecordReader, Run
from bridle.engine.replay.event_loop import ReplayLoop
from bridle.engine.replay.recorded import Recording
from bridle.errors import ProcessDiverged
from bridle.ground import clock
from bridle.journal.format.state import State


class Replay:
    """A running process; `catch_up` delivers recorded results, `answers` collects new requests."""

    def __init__(self, process: Process, run: Run, *, now: Callable[[], datetime] = clock.now) -> None:
        self.process = process
        self.recording = Recording()
        self._run = run
        self._loop = ReplayLoop()
        self._main: asyncio.Task[Any] | None = None
        self.answers = Answers(run, self._loop, self.recording, now)
        self._context = Context(self.answers, run.run_id)

    @property
    def inputs(self) -> Any:
        return self._run.inputs

    def catch_up(self, store: RecordReader, writer: IdSource, state: State) -> None:
        """Deliver new results and run until idle.

        Raise ProcessDiverged if a request differs from the recorded one, JournalBroken if a file of the run is
        unusable; the process notices neither.
        """
        answers = self.answers
        answers.store, answers.writer = store, writer
        with self.process.active(), self._loop.running():
            self.recording.update(state)
            if self._main is None:
                self._main = self._loop.create_task(self.process.function(self._run.inputs, self._context))
                self._loop.run_until_idle()
            for item in self.recording.new_results(state):
                if answers.is_stopped:
                    break
                answers.deliver(item)
                self._loop.run_until_idle()
                while answers.deliver_deferred():
                    self._loop.run_until_idle()
        self.process.stamp_files()  # also those that the process has imported now
        error = answers.stop_error or (self._ended_early() if self.has_returned else None)
        if error is not None:
            raise error

    @property
    def has_returned(self) -> bool:
        """Return whether the process has returned and has no pending requests."""
        main = self._main
        if main is None or not main.done() or main.cancelled() or main.exception() is not None:
            return False
        return not self.answers.pending and self.answers.next_call is None

    @property
    def value(self) -> Any:
        """Return the return value of the process."""
        assert self._main is not None  # noqa: S101  # for the type checker: read only after the process has returned
        return self._main.result()

    @property
    def report_state(self) -> Callable[[], Any] | None:
        """Return the function that returns the present state of a process that reports it, else None."""
        return self._context.report_state

    @property
    def process_state(self) -> Any:
        """Return the present state of a process that reports it, else None."""
        return None if self.report_state is None else self.report_state()

    @property
    def error(self) -> BaseException | None:
        """Return the error that ended the process, if any."""
        main = self._main
        if main is None or not main.done():
            return None
        return asyncio.CancelledError("the process was cancelled from within") if main.cancelled() else main.exception()

    @property
    def warnings(self) -> list[str]:
        """Return the errors of tasks that the process did not await."""
        return self._loop.warnings()

    def abandon(self) -> None:
        """Abandon the process: none of its code runs again, not even its `finally` blocks."""
        self._loop.abandon()

    def cancel(self) -> None:
        """Cancel the process and free it; only for Bridle's own processes, which do nothing when cancelled."""
        self.answers.is_stopped = True
        with self._loop.running():
            for task in self._loop.unfinished():
                task.cancel()
            self._loop.run_until_idle()
        self._loop.abandon()

    def _ended_early(self) -> ProcessDiverged | None:
        """Return the error of a process that returned before a recorded step."""
        for step_id, effect in self.recording.effects.items():
            if self.answers.steps.is_ahead(step_id):
                line = self.process.function.__code__.co_firstlineno
                return ProcessDiverged(
                    f"{self.process.path}:{line}: the process returns without requesting step {step_id}, "
                    f"but the journal has task {effect.task_id!r} there",
                    remedy=RESTORE,
                    payload=effect.request,
                )
        return None
