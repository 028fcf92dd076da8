"""The tool calls of one answer: each starts as soon as it is complete; only calls that change nothing overlap."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bridle.agent.tools.toolbox import FinishedCall, ToolCall

Run = Callable[[ToolCall], Awaitable[FinishedCall]]


class RunningCalls:
    """The calls of one answer, in the order in which the model made them."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tasks: list[tuple[asyncio.Task[FinishedCall], bool]] = []
        self._open: dict[str, ToolCall] = {}
        self._finished: asyncio.Queue[FinishedCall | Exception] = asyncio.Queue()

    def begin(self, call: ToolCall) -> None:
        """Start a call. One that is not concurrent waits for all before it, and all after it wait for it."""
        before = [task for task, is_concurrent in self._tasks if not (call.is_concurrent and is_concurrent)]
        self._tasks.append((asyncio.create_task(self._run_after(before, call)), call.is_concurrent))
        self._open[call.call_id] = call

    @property
    def is_empty(self) -> bool:
        """Whether no call was started."""
        return not self._tasks

    @property
    def unanswered(self) -> list[ToolCall]:
        """The calls whose result `next_done` has not returned yet."""
        return list(self._open.values())

    async def next_done(self) -> FinishedCall:
        """Wait for the next call to finish, in any order; raise the error of one that could not be run."""
        done = await self._finished.get()
        if isinstance(done, Exception):
            raise done
        self._open.pop(done.call.call_id, None)
        return done

    async def cancel(self) -> None:
        """Cancel all calls and wait until they have ended."""
        tasks = [task for task, _ in self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run_after(self, before: list[asyncio.Task[FinishedCall]], call: ToolCall) -> FinishedCall:
        if before:
            await asyncio.wait(before)
        try:
            done = await self._run(call)
        except Exception as error:
            self._finished.put_nowait(error)  # the turn would wait for this call forever
            raise
        self._finished.put_nowait(done)
        return done
