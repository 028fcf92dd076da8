"""The calls of one answer: side by side where they cannot meet, one after the other where they could."""

from __future__ import annotations

import asyncio

import pytest

from bridle.agent.conversation.running_calls import RunningCalls
from bridle.agent.tools.contract.tool import ToolResult
from bridle.agent.tools.toolbox import FinishedCall, ToolCall

LIMIT_SECONDS = 30.0


class Gate:
    """Runs calls that end when the test lets them."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []
        self.cancelled: list[str] = []
        self.let: dict[str, asyncio.Event] = {}

    async def __call__(self, call: ToolCall) -> FinishedCall:
        self.begun.append(call.call_id)
        try:
            await self.let.setdefault(call.call_id, asyncio.Event()).wait()
        except asyncio.CancelledError:
            self.cancelled.append(call.call_id)
            raise
        self.ended.append(call.call_id)
        return FinishedCall(call, ToolResult("ok"))

    def open(self, call_id: str) -> None:
        self.let.setdefault(call_id, asyncio.Event()).set()


def call(name: str, *, is_concurrent: bool) -> ToolCall:
    return ToolCall(name, "Tool", {}, None, is_concurrent)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_concurrent_calls_run_together_and_are_returned_as_they_end() -> None:
    async def scene() -> None:
        gate = Gate()
        calls = RunningCalls(gate)
        for name in ("a", "b", "c"):
            calls.begin(call(name, is_concurrent=True))
        await settle()
        assert gate.begun == ["a", "b", "c"]
        told = []
        for name in ("c", "a", "b"):
            gate.open(name)
            told.append((await calls.next_done()).call.call_id)
        assert told == ["c", "a", "b"]
        assert calls.unanswered == []

    asyncio.run(asyncio.wait_for(scene(), LIMIT_SECONDS))


def test_an_exclusive_call_waits_for_those_before_it_and_delays_those_after_it() -> None:
    async def scene() -> None:
        gate = Gate()
        calls = RunningCalls(gate)
        calls.begin(call("look", is_concurrent=True))
        calls.begin(call("change", is_concurrent=False))
        calls.begin(call("look again", is_concurrent=True))
        await settle()
        assert gate.begun == ["look"]
        gate.open("look")
        await calls.next_done()
        await settle()
        assert gate.begun == ["look", "change"]
        gate.open("change")
        await calls.next_done()
        await settle()
        assert gate.begun == ["look", "change", "look again"]
        gate.open("look again")
        await calls.next_done()

    asyncio.run(asyncio.wait_for(scene(), LIMIT_SECONDS))


def test_two_changes_keep_the_order_of_the_model() -> None:
    async def scene() -> None:
        gate = Gate()
        calls = RunningCalls(gate)
        for name in ("first", "second"):
            calls.begin(call(name, is_concurrent=False))
            gate.open(name)
        assert [(await calls.next_done()).call.call_id for _ in range(2)] == ["first", "second"]

    asyncio.run(asyncio.wait_for(scene(), LIMIT_SECONDS))


def test_cancelled_calls_have_ended_and_waiting_ones_never_start() -> None:
    async def scene() -> None:
        gate = Gate()
        calls = RunningCalls(gate)
        calls.begin(call("running", is_concurrent=False))
        calls.begin(call("waiting", is_concurrent=False))
        await settle()
        await calls.cancel()
        assert (gate.begun, gate.cancelled, gate.ended) == (["running"], ["running"], [])
        assert [one.call_id for one in calls.unanswered] == ["running", "waiting"]

    asyncio.run(asyncio.wait_for(scene(), LIMIT_SECONDS))


def test_the_error_of_a_call_that_could_not_be_run_reaches_the_turn() -> None:
    async def fail(_: ToolCall) -> FinishedCall:
        raise LookupError("a fault of our own")

    async def main() -> None:
        calls = RunningCalls(fail)
        calls.begin(call("a", is_concurrent=True))
        async with asyncio.timeout(LIMIT_SECONDS):
            with pytest.raises(LookupError, match="a fault of our own"):
                await calls.next_done()
        await calls.cancel()

    asyncio.run(main())
