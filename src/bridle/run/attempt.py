"""One attempt of an agent run: one child process, from its start to its last byte."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing

from msgspec import Struct, field

from bridle.errors import DiskError, ProcessError
from bridle.ground import clock, ids
from bridle.ground.children import child_process
from bridle.ground.children.child_process import Child, Spawn, StopTimeouts
from bridle.run.command import Command
from bridle.run.isolation.sandbox_session import Sandboxed, enter_sandbox
from bridle.run.logs import RunLog
from bridle.run.request import Request
from bridle.run.structured import CORRECTIONS, Schema
from bridle.run.watchdog import Deadline, RunTimes, Watchdog, next_deadline
from bridle.wire.control import control_messages
from bridle.wire.dialects.dialect_table import StreamDecoder, decoder_for
from bridle.wire.events.blocks import Text
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlRequest, Event, Result
from bridle.wire.events.system import Init
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, exit_after_result, is_cut_short
from bridle.wire.record.record import Record
from bridle.wire.record.recorder import Recorder

# After the end of its output, or after it was stopped: the last bytes are in the pipe already.
LAST_BYTES_SECONDS = 5.0
# For an agent that closed its output without a result, to save its session.
LEAVING_SECONDS = 10.0
# A write fails because the agent has exited; the exit may be noticed a moment later.
ENDED_SECONDS = 1.0
# At a limit there is time: on SIGINT Claude Code saves its session and prints its own result.
STOPPING = StopTimeouts(stdin_seconds=0.5, interrupt_seconds=2.5, terminate_seconds=1.5, descendants_seconds=1.0)
LEAVING = StopTimeouts(stdin_seconds=0.3, interrupt_seconds=1.5, terminate_seconds=1.0, descendants_seconds=0.5)
INTERRUPTED = "interrupted"  # the error of a run that was cancelled before its result
STDERR_LIMIT_CHARACTERS = 64 * 1024
_HANDLED = frozenset({ControlRequest, Init, Result})  # events that need a response, or start or end a turn


class Attempt(Struct):
    """One child process and what is known of it."""

    request: Request
    command: Command
    log: RunLog
    schema: Schema | None = None
    recorder: Recorder = field(default_factory=Recorder)
    limit: Watchdog | None = None
    limit_seconds: float = 0.0
    fault: str | None = None
    fault_category: Category | None = None
    is_interrupted: bool = False
    """Whether it was cancelled, or its events were no longer read."""
    exit_code: int | None = None
    stderr: str = ""
    corrections: int = 0
    started: float = 0.0
    was_started: bool = False
    seconds: float = 0.0
    _last_byte: float = 0.0
    _done: float | None = None
    _turns_seen: int = 0
    _is_stdin_open: bool = False
    _had_result: bool = False
    """Whether there was a result when the limit was reached."""
    _sending: asyncio.Task[None] | None = None
    _waiting: asyncio.Timeout | None = None

    @property
    def record(self) -> Record:
        """The facts so far."""
        return self.recorder.record

    @property
    def ended_by_us(self) -> bool:
        """Whether we ended an agent that had succeeded but did not exit."""
        was_stopped = self.limit is not None or self.is_interrupted
        return was_stopped and self.record.results > 0 and self.record.failure is None

    @property
    def killed_after_result(self) -> bool:
        """Whether the agent had a result, success or error, and was ended because it did not exit."""
        return self.limit is not None and self._had_result

    @property
    def timed_out(self) -> bool:
        """Whether a limit was reached before the agent succeeded."""
        return self.limit is not None and not self.ended_by_us

    def interrupt(self) -> None:
        """Record the interruption; a result that the agent has already printed still counts."""
        self.is_interrupted = True
        if is_cut_short(self.record):
            self.fault = self.fault or INTERRUPTED

    def ending(self, expected_session: str | None) -> Ending:
        """Return how the process ended, for the outcome."""
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
        """Start the child and yield its events in batches; at the end no process of it is left.

        A batch holds the events of one read: passing each through several generators would cost as much as decoding it.
        """
        with self._sandbox() as sandboxed:
            async with aclosing(self._batches(sandboxed)) as batches:
                async for events in batches:
                    yield events
            sandboxed.check_started(self.exit_code, self.stderr.encode())

    def _sandbox(self) -> AbstractContextManager[Sandboxed]:
        """Prepare the sandbox of the child, if one is in force."""
        request, command = self.request, self.command
        return enter_sandbox(
            request.sandbox,
            command.argv,
            cwd=request.cwd,
            environment=command.environment,
            agent=request.agent,
            read_only=request.read_only,
        )

    async def _batches(self, sandboxed: Sandboxed) -> AsyncGenerator[list[Event], None]:
        spawn = Spawn(
            argv=sandboxed.argv,
            cwd=self.request.cwd,
            environment=sandboxed.environment,
            token=ids.new_token(),
            has_stdin=self.command.is_conversation or self.command.stdin_text is not None,
            sandbox=sandboxed.sandbox,
            process_limit=self.request.sandbox.rules.max_processes,
        )
        self.started = self._last_byte = clock.monotonic()
        try:
            self.was_started = True  # also where the start is interrupted
            child = await child_process.start(spawn, on_chunk=self.log.write, on_stderr=self.log.write_stderr)
        except Exception:
            self.was_started = False
            raise
        decoder = decoder_for(self.request.agent)
        try:
            async with aclosing(self._converse(child, decoder)) as batches:
                async for events in batches:
                    yield events
            await self._wait_for_exit(child)
        except BaseException:
            await child.stop(timeouts=StopTimeouts())
            await self._last_events(child, decoder)
            raise
        finally:
            if self._sending is not None:
                self._sending.cancel()
            await child.close()
            self._note_log_error(child.tap_error)
            if child.reached_limit is not None:
                self.fault = self.fault or f"it had more than {child.reached_limit} processes, and was ended"
            self.exit_code = sandboxed.exit_code_of(child.exit_code)
            self.stderr = child.stderr_tail.decode("utf-8", "replace")[-STDERR_LIMIT_CHARACTERS:]
            self.seconds = clock.monotonic() - self.started

    async def _converse(self, child: Child, decoder: StreamDecoder) -> AsyncGenerator[list[Event], None]:
        """Send the prompt, and read until the output ends or a limit is reached."""
        # Concurrently: an agent may print a lot before it reads, and its limits apply from the start.
        self._is_stdin_open = self.command.is_conversation
        self._sending = asyncio.create_task(self._send(child))
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
        # What the agent prints while it is stopped belongs to the run: the log has it too.
        await child.stop(timeouts=LEAVING if self.ended_by_us else STOPPING)
        yield await self._last_events(child, decoder)

    async def _last_events(self, child: Child, decoder: StreamDecoder) -> list[Event]:
        """Return the events left in the pipe and the buffers; the process has ended."""
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

    async def _wait_for_exit(self, child: Child) -> None:
        """Wait for the exit after the end of the output; end the process at the limit."""
        if not self._is_stopped():
            limit = self._exit_limit()
            if await child.wait(max(limit.at - clock.monotonic(), 0.0)) is None:
                self._reach(limit)
                await child.stop(timeouts=LEAVING)
        if self.schema is not None and self.fault is None and self.record.failure is None and self.record.results:
            self._check_schema(self.schema, child.exit_code)

    def _is_stopped(self) -> bool:
        return self.limit is not None or self.fault is not None

    def _exit_limit(self) -> Deadline:
        limits, now = self.request.limits, clock.monotonic()
        leaving = Deadline(now + LEAVING_SECONDS, Watchdog.LEAVING, LEAVING_SECONDS)
        if self.record.results:
            seconds = limits.after_result_seconds
            leaving = Deadline(now + seconds, Watchdog.AFTER_RESULT, seconds)
        run = Deadline(self.started + limits.run_seconds, Watchdog.RUN, limits.run_seconds)
        return min(run, leaving, key=lambda deadline: deadline.at)

    def _reach(self, deadline: Deadline) -> None:
        self.limit, self.limit_seconds = deadline.watchdog, deadline.seconds
        self._had_result = self.record.results > 0

    async def _next_chunk(self, child: Child) -> bytes | None:
        """Return the next bytes; None at their end, and when the run was stopped."""
        deadline = next_deadline(RunTimes(self.started, self._last_byte, self._done), self.request.limits, self.record)
        # Without this, output that is always available would starve the event loop: limits, signals, other agents.
        await asyncio.sleep(0)
        left = deadline.at - clock.monotonic()
        if deadline.watchdog is Watchdog.RUN and left <= 0:
            self._reach(deadline)
            return None
        try:
            async with asyncio.timeout(left) as self._waiting:
                chunk = await self._read(child)
        except TimeoutError:
            if not self._is_stopped():
                self._reach(deadline)
            return None
        finally:
            self._waiting = None
        self._last_byte = clock.monotonic()
        return chunk

    async def _read(self, child: Child) -> bytes | None:
        try:
            return await child.read()
        except DiskError as error:
            self._note_log_error(error)
            return b""

    def _note_log_error(self, error: Exception | None) -> None:
        if isinstance(error, DiskError) and self.fault is None:
            self.fault = f"the run was stopped, because its log could not be written: {error.message}"

    async def _send(self, child: Child) -> None:
        if self.command.is_conversation:
            await self._send_prompt(child, self.request.prompt)
        elif self.command.stdin_text is not None:
            await self._write(child, self.command.stdin_text.encode("utf-8", "replace"))
            await child.close_stdin()

    async def _reply(self, child: Child, events: list[Event]) -> None:
        """Respond to control requests, send corrections, and close stdin after the result."""
        handled = [event for event in events if type(event) in _HANDLED]
        for event in handled:
            if isinstance(event, ControlRequest) and self._is_stdin_open:
                refusal = f"there is no user to answer {event.subtype or 'this request'}"
                await self._write(child, encode(control_messages.failure(event.request_id, refusal)))
        if self.record.results > self._turns_seen:
            self._turns_seen = self.record.results
            await self._end_turn(child)
        for event in handled:
            if isinstance(event, Init):  # a background task has ended and started a new turn
                self._done = None
            elif isinstance(event, Result) and not self._is_stdin_open:
                self._done = clock.monotonic()

    async def _end_turn(self, child: Child) -> None:
        if not self._is_stdin_open:
            return
        complaint = self.schema.complaint(self.record) if self.schema and self.record.failure is None else None
        if complaint is not None and self.schema is not None and self.corrections < CORRECTIONS:
            self.corrections += 1
            await self._send_prompt(child, self.schema.correction(complaint))
            return
        self._is_stdin_open = False
        await child.close_stdin()

    def _check_schema(self, schema: Schema, exit_code: int | None) -> None:
        complaint = schema.complaint(self.record)
        if complaint is not None:
            times = "1 correction" if self.corrections == 1 else f"{self.corrections} corrections"
            self.fault = f"{complaint}, after {times}"
            self.fault_category = Category.PARSE
            if self.record.permission_denials:  # probably the cause
                self.fault += f"; permission was refused for {', '.join(sorted(set(self.record.denied_tools)))}"
                self.fault_category = Category.PERMISSION if self.request.denials_fail else Category.PARSE
            left_with = None if self.ended_by_us else exit_after_result(self.record, exit_code)
            if left_with is not None:  # perhaps why it did not answer
                self.fault += f"; {left_with}"

    async def _send_prompt(self, child: Child, text: str) -> None:
        await self._write(child, control_messages.user_message((Text(text=text),)))

    async def _write(self, child: Child, data: bytes) -> None:
        """Write to stdin. An agent that has exited is not an error here: its output and exit code tell why."""
        try:
            await child.write(data)
        except ProcessError as error:
            self._is_stdin_open = False
            if self.record.results:
                self._done = clock.monotonic()
            elif await child.wait(ENDED_SECONDS) is None and not self._is_stopped():
                self.fault = f"the agent does not read its input: {error.message}"
                if self._waiting is not None:
                    self._waiting.reschedule(asyncio.get_running_loop().time())
