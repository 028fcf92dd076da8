"""One attempt: one child process, from its start to its last byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from bridle.errors import DiskError, ProcessError
from bridle.ground import clock, ids
from bridle.ground.children import child_process
from bridle.ground.children.child_process import Child, Spawn, StopTimeouts
from bridle.run.command import Command
from bridle.run.logs import RunLog
from bridle.run.request import Request
from bridle.run.structured import CORRECTIONS, Schema
from bridle.run.watchdog import Bite, Clock, Deadline, next_deadline
from bridle.wire.control import control_messages
from bridle.wire.dialects.dialect_table import StreamDecoder, decoder_for
from bridle.wire.events.blocks import Text
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlRequest, Event, Result
from bridle.wire.events.system import Init
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, is_cut_short
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

# After its output ended, or after it was told to stop: the last bytes come at once or not at all.
LAST_BYTES_SECONDS = 5.0
# An agent that closed its output without a result cannot tell us anything more; saving its session may take this.
LEAVING_SECONDS = 10.0
# A write that failed because the agent has ended: the news of its end may come a moment later.
ENDED_SECONDS = 1.0
# A watchdog is not in a hurry: Claude Code writes its session and an ending of its own on SIGINT.
STOPPING = StopTimeouts(stdin_seconds=0.5, interrupt_seconds=2.5, terminate_seconds=1.5, descendants_seconds=1.0)
LEAVING = StopTimeouts(stdin_seconds=0.3, interrupt_seconds=1.5, terminate_seconds=1.0, descendants_seconds=0.5)
INTERRUPTED = "interrupted"  # the error of a run that somebody broke off before its result
STDERR_LIMIT_CHARACTERS = 64 * 1024
_TELLING = frozenset({ControlRequest, Init, Result})  # events that ask something of us, or begin or end a turn


@dataclass(slots=True)
class Attempt:
    """One child process and what was seen of it."""

    request: Request
    command: Command
    log: RunLog
    schema: Schema | None = None
    recorder: Recorder = field(default_factory=Recorder)
    bite: Bite | None = None
    bite_seconds: float = 0.0
    fault: str | None = None
    fault_category: Category | None = None
    is_broken_off: bool = False
    """Whether somebody interrupted it, or nobody wanted more of its events."""
    exit_code: int | None = None
    stderr: str = ""
    corrections: int = 0
    started: float = 0.0
    seconds: float = 0.0
    _last_byte: float = 0.0
    _done: float | None = None
    _turns_seen: int = 0
    _is_talking: bool = False
    _had_answered: bool = False
    """Whether there was a result when the limit struck."""
    _opening: asyncio.Task[None] | None = None
    _waiting: asyncio.Timeout | None = None

    @property
    def record(self) -> Record:
        """The facts so far."""
        return self.recorder.record

    @property
    def ended_by_us(self) -> bool:
        """Whether the agent had answered well and only outstayed it."""
        has_struck = self.bite is not None or self.is_broken_off
        return has_struck and self.record.results > 0 and self.record.failure is None

    @property
    def killed_after_result(self) -> bool:
        """Whether the agent had a result, whatever it said, and was ended because it stayed."""
        return self.bite is not None and self._had_answered

    @property
    def timed_out(self) -> bool:
        """Whether a limit struck before the agent had answered."""
        return self.bite is not None and not self.ended_by_us

    def break_off(self) -> None:
        """Note that it was interrupted; an answer that it had already given stays."""
        self.is_broken_off = True
        if is_cut_short(self.record):
            self.fault = self.fault or INTERRUPTED

    def ending(self, expected_session: str | None) -> Ending:
        """How the process ended, for the verdict."""
        return Ending(
            exit_code=self.exit_code,
            stderr=self.stderr,
            timed_out=self.timed_out,
            expected_session=expected_session,
            fault=self.fault,
            fault_category=self.fault_category,
            ended_by_us=self.ended_by_us,
        )

    async def batches(self) -> AsyncGenerator[list[Event], None]:
        """Start the child and yield its events as they come; when this ends, nothing of it is left.

        All events of one read come together: handing each of them through several generators would cost as much
        as decoding it.
        """
        spawn = Spawn(
            argv=self.command.argv,
            cwd=self.request.cwd,
            environment=self.command.environment,
            token=ids.new_token(),
            talk=self.command.talk or self.command.stdin_text is not None,
        )
        self.started = self._last_byte = clock.monotonic()
        child = await child_process.start(spawn, on_chunk=self.log.write, on_stderr=self.log.write_stderr)
        decoder = decoder_for(self.request.agent)
        try:
            async with aclosing(self._converse(child, decoder)) as batches:
                async for events in batches:
                    yield events
            await self._see_out(child)
        except BaseException:
            await child.stop(patience=StopTimeouts())
            await self._last_events(child, decoder)
            raise
        finally:
            if self._opening is not None:
                self._opening.cancel()
            await child.close()
            self._note_tap(child.tap_error)
            self.exit_code = child.exit_code
            self.stderr = child.stderr_tail.decode("utf-8", "replace")[-STDERR_LIMIT_CHARACTERS:]
            self.seconds = clock.monotonic() - self.started

    async def _converse(self, child: Child, decoder: StreamDecoder) -> AsyncGenerator[list[Event], None]:
        """Say what there is to say, and read until the output ends or a limit strikes."""
        # Beside the reading: an agent may print a lot before it reads, and its limits hold meanwhile.
        self._is_talking = self.command.talk
        self._opening = asyncio.create_task(self._open(child))
        while not self._is_stopped():
            chunk = await self._next_chunk(child)
            if self._is_stopped():
                break
            events = decoder.end() if chunk is None else decoder.feed(chunk)
            self.recorder.add_all(events)
            yield events
            if chunk is None:
                return
            await self._reply(child, events)
        # The bytes that the agent still prints on its way out belong to the run: the log has them too.
        await child.stop(patience=LEAVING if self.ended_by_us else STOPPING)
        yield await self._last_events(child, decoder)

    async def _last_events(self, child: Child, decoder: StreamDecoder) -> list[Event]:
        """Nobody writes any more, so this is at most what the pipe and the buffers hold."""
        events: list[Event] = []
        try:
            async with asyncio.timeout(LAST_BYTES_SECONDS):
                while (chunk := await self._read(child)) is not None:
                    events += decoder.feed(chunk)
        except TimeoutError:
            pass
        events += decoder.end()
        self.recorder.add_all(events)
        return events

    async def _see_out(self, child: Child) -> None:
        """The output is over: let the process leave, and end it if it stays."""
        if not self._is_stopped():
            limit = self._leaving_limit()
            if await child.wait(max(limit.at - clock.monotonic(), 0.0)) is None:
                self._bite(limit)
                await child.stop(patience=LEAVING)
        if self.schema is not None and self.fault is None and self.record.failure is None and self.record.results:
            self._judge_schema(self.schema)

    def _is_stopped(self) -> bool:
        return self.bite is not None or self.fault is not None

    def _leaving_limit(self) -> Deadline:
        limits, now = self.request.limits, clock.monotonic()
        leaving = Deadline(now + LEAVING_SECONDS, Bite.LEAVING, LEAVING_SECONDS)
        if self.record.results:
            seconds = limits.after_result_seconds
            leaving = Deadline(now + seconds, Bite.AFTER_RESULT, seconds)
        run = Deadline(self.started + limits.run_seconds, Bite.RUN, limits.run_seconds)
        return min(run, leaving, key=lambda deadline: deadline.at)

    def _bite(self, deadline: Deadline) -> None:
        self.bite, self.bite_seconds = deadline.bite, deadline.seconds
        self._had_answered = self.record.results > 0

    async def _next_chunk(self, child: Child) -> bytes | None:
        """The next bytes; None at their end, and when something has stopped the run."""
        deadline = next_deadline(Clock(self.started, self._last_byte, self._done), self.request.limits, self.record)
        # Bytes that are always there never let the loop turn: then no limit, signal or other agent gets its time.
        await asyncio.sleep(0)
        left = deadline.at - clock.monotonic()
        if deadline.bite is Bite.RUN and left <= 0:
            self._bite(deadline)
            return None
        try:
            async with asyncio.timeout(left) as self._waiting:
                chunk = await self._read(child)
        except TimeoutError:
            if not self._is_stopped():
                self._bite(deadline)
            return None
        finally:
            self._waiting = None
        self._last_byte = clock.monotonic()
        return chunk

    async def _read(self, child: Child) -> bytes | None:
        try:
            return await child.read()
        except DiskError as error:
            self._note_tap(error)
            return b""

    def _note_tap(self, error: Exception | None) -> None:
        if isinstance(error, DiskError) and self.fault is None:
            self.fault = f"the log could not be written, so the run was ended: {error.message}"

    async def _open(self, child: Child) -> None:
        if self.command.talk:
            await self._say(child, self.request.prompt)
        elif self.command.stdin_text is not None:
            await self._write(child, self.command.stdin_text.encode("utf-8", "replace"))
            await child.close_stdin()

    async def _reply(self, child: Child, events: list[Event]) -> None:
        """Answer what the agent asks, correct what does not fit, and hang up when it has answered."""
        told = [event for event in events if type(event) in _TELLING]  # few of many
        for event in told:
            if isinstance(event, ControlRequest) and self._is_talking:
                refusal = f"nobody is here to answer {event.subtype or 'this request'}"
                await self._write(child, encode(control_messages.failure(event.request_id, refusal)))
        if self.record.results > self._turns_seen:
            self._turns_seen = self.record.results
            await self._end_turn(child)
        for event in told:
            if isinstance(event, Init):  # what ran in the background has come back: a new turn
                self._done = None
            elif isinstance(event, Result) and not self._is_talking:
                self._done = clock.monotonic()

    async def _end_turn(self, child: Child) -> None:
        if not self._is_talking:
            return
        complaint = self.schema.complaint(self.record) if self.schema and self.record.failure is None else None
        if complaint is not None and self.schema is not None and self.corrections < CORRECTIONS:
            self.corrections += 1
            await self._say(child, self.schema.correction(complaint))
            return
        self._is_talking = False
        await child.close_stdin()

    def _judge_schema(self, schema: Schema) -> None:
        complaint = schema.complaint(self.record)
        if complaint is not None:
            self.fault = f"{complaint}, after {self.corrections} corrections"
            self.fault_category = Category.PARSE

    async def _say(self, child: Child, text: str) -> None:
        await self._write(child, control_messages.user_message((Text(text=text),)))

    async def _write(self, child: Child, data: bytes) -> None:
        """Write to stdin. An agent that is gone is no fault of ours: its output and exit code say why."""
        try:
            await child.write(data)
        except ProcessError as error:
            self._is_talking = False
            if self.record.results:
                self._done = clock.monotonic()
            elif await child.wait(ENDED_SECONDS) is None and not self._is_stopped():
                self.fault = f"the agent does not read its input: {error.message}"
                if self._waiting is not None:
                    self._waiting.reschedule(asyncio.get_running_loop().time())
