"""The tool calls of one answer: begun as soon as each is complete, side by side where they cannot meet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from bridle.agent.tools.toolbox import FinishedCall, ToolCall

Run = Callable[[ToolCall], Awaitable[FinishedCall]]


class RunningCalls:
    """Calls that run, and those that have their answer and wait to be told."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._tasks: dict[str, asyncio.Task[FinishedCall]] = {}
        self._order: list[tuple[asyncio.Task[FinishedCall], bool]] = []
        self._open: dict[str, ToolCall] = {}
        self._finished: asyncio.Queue[FinishedCall] = asyncio.Queue()

    def begin(self, call: ToolCall, *, is_shared: bool) -> None:
        """Start a call; one that changes something waits for all before it, and all after it wait for that one."""
        before = [task for task, shared in self._order if not (is_shared and shared)]
        task = asyncio.create_task(self._after(before, call))
        self._order.append((task, is_shared))
        self._open[call.call_id] = call

    @property
    def is_empty(self) -> bool:
        """Whether no call was begun."""
        return not self._order

    @property
    def unanswered(self) -> list[ToolCall]:
        """Calls whose answer nobody has taken yet, in the order in which the model made them."""
        return list(self._open.values())

    async def next_done(self) -> FinishedCall:
        """Wait for the next call that is done, whichever it is."""
        done = await self._finished.get()
        self._open.pop(done.call.call_id, None)
        return done

    async def cancel(self) -> None:
        """End every call that still runs, and wait until it has ended."""
        tasks = [task for task, _ in self._order]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _after(self, before: list[asyncio.Task[FinishedCall]], call: ToolCall) -> FinishedCall:
        if before:
            await asyncio.wait(before)
        done = await self._run(call)
        self._finished.put_nowait(done)
        return done
