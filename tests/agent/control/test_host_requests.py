"""Requests to the host: matched with their responses, failed when the host is gone, cancelled with the turn."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bridle.agent.control.host_requests import ALREADY_CLOSED, CLOSED, HostRequests
from bridle.errors import HostFailure
from bridle.wire.events.events import ControlResponse


class Wire:
    """What was written to the host."""

    def __init__(self, line_limit_bytes: int | None = None) -> None:
        self.lines: list[dict[str, Any]] = []
        self._ids = iter(range(100))
        self.requests = HostRequests(
            lambda data: self.lines.append(json.loads(data)),
            lambda: f"r{next(self._ids)}",
            line_limit_bytes=line_limit_bytes,
        )

    def respond(self, request_id: object, **answer: Any) -> None:
        self.requests.receive(ControlResponse(response={"request_id": request_id, **answer}))


def test_responses_in_any_order_reach_their_requests() -> None:
    async def scenario() -> tuple[Any, Any]:
        wire = Wire()
        first, second = (asyncio.create_task(wire.requests.send({"subtype": name})) for name in ("a", "b"))
        await asyncio.sleep(0)
        assert [line["request"]["subtype"] for line in wire.lines] == ["a", "b"]
        wire.respond("r1", subtype="success", response={"n": 2})
        wire.respond("r0", subtype="success", response={"n": 1})
        return await first, await second

    assert asyncio.run(scenario()) == ({"n": 1}, {"n": 2})


@pytest.mark.parametrize("payload", [None, "text", [1]])
def test_a_payload_that_is_not_an_object_counts_as_empty(payload: object) -> None:
    async def scenario() -> Any:
        wire = Wire()
        sent = asyncio.create_task(wire.requests.send({}))
        await asyncio.sleep(0)
        wire.respond("r0", subtype="success", response=payload)
        return await sent

    assert asyncio.run(scenario()) == {}


@pytest.mark.parametrize(("error", "text"), [("no such hook", "no such hook"), (None, "the host reported no reason")])
def test_an_error_of_the_host_is_raised(error: object, text: str) -> None:
    async def scenario() -> None:
        wire = Wire()
        sent = asyncio.create_task(wire.requests.send({}))
        await asyncio.sleep(0)
        wire.respond("r0", subtype="error", error=error)
        await sent

    with pytest.raises(HostFailure, match=text):
        asyncio.run(scenario())


def test_a_closed_input_fails_pending_requests_and_all_that_follow() -> None:
    async def scenario() -> tuple[object, ...]:
        wire = Wire()
        pending = asyncio.create_task(wire.requests.send({}))
        await asyncio.sleep(0)
        wire.requests.close()
        later = asyncio.create_task(wire.requests.send({}))
        failures = await asyncio.gather(pending, later, return_exceptions=True)
        return (*failures, len(wire.lines))

    first, second, written = asyncio.run(scenario())
    assert (str(first), str(second), written) == (CLOSED, ALREADY_CLOSED, 1)


def test_a_cancelled_request_is_cancelled_at_the_host_and_its_late_response_ignored() -> None:
    async def scenario() -> list[dict[str, Any]]:
        wire = Wire()
        sent = asyncio.create_task(wire.requests.send({}))
        await asyncio.sleep(0)
        sent.cancel()
        await asyncio.gather(sent, return_exceptions=True)
        wire.respond("r0", subtype="success", response={})
        wire.respond(["not", "an", "id"], subtype="success")
        return wire.lines

    assert asyncio.run(scenario())[1:] == [{"type": "control_cancel_request", "request_id": "r0"}]


LIMIT = 10_000


def test_a_request_that_is_too_long_is_shortened_and_its_response_has_the_original() -> None:
    async def scenario() -> tuple[Any, Any]:
        wire = Wire(line_limit_bytes=LIMIT)
        content = "x" * 30_000
        sent = asyncio.create_task(wire.requests.send({"subtype": "can_use_tool", "input": {"content": content}}))
        await asyncio.sleep(0)
        [line] = wire.lines
        assert len(json.dumps(line)) < LIMIT
        wire.respond("r0", subtype="success", response={"updatedInput": {**line["request"]["input"], "more": 1}})
        return await sent, {"updatedInput": {"content": content, "more": 1}}

    answer, expected = asyncio.run(scenario())
    assert answer == expected


def test_a_message_for_a_server_in_the_host_is_never_shortened() -> None:
    async def scenario() -> None:
        wire = Wire(line_limit_bytes=LIMIT)
        with pytest.raises(HostFailure, match=r"has 30,\d\d\d bytes, and the Python SDK reads 10,000"):
            await wire.requests.send({"subtype": "mcp_message", "message": {"text": "x" * 30_000}})
        assert wire.lines == []
        sent = asyncio.create_task(wire.requests.send({"subtype": "mcp_message"}))
        await asyncio.sleep(0)
        wire.respond("r1", subtype="success", response={"n": 1})
        assert await sent == {"n": 1}

    asyncio.run(scenario())
