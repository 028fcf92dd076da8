"""Handlers of the host's control requests: at once or later, cancelled, failed, unknown."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bridle.agent.control.control_handlers import ControlHandlers, Payload
from bridle.errors import UserError
from bridle.wire.events.loose_json import JsonObject


class Written:
    """The responses that were written."""

    def __init__(self) -> None:
        self.responses: list[dict[str, Any]] = []

    def write(self, line: bytes) -> None:
        self.responses.append(json.loads(line)["response"])


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_handler_gets_the_request_and_its_payload_is_the_response() -> None:
    written = Written()
    handlers = ControlHandlers(
        {"echo": lambda request: {"said": request["text"]}, "none": lambda _: None}, written.write
    )
    handlers.handle("1", {"subtype": "echo", "text": "hi"})
    handlers.handle("2", {"subtype": "none"})
    assert written.responses == [
        {"subtype": "success", "request_id": "1", "response": {"said": "hi"}},
        {"subtype": "success", "request_id": "2"},
    ]


def test_an_error_is_the_response_and_an_unknown_subtype_is_one() -> None:
    written = Written()

    def refuse(_request: JsonObject) -> Payload:
        raise UserError("not that")

    handlers = ControlHandlers({"refuse": refuse}, written.write)
    for request_id, subtype in enumerate(["refuse", "teleport", ["refuse"], None]):
        handlers.handle(str(request_id), {"subtype": subtype})
    assert [response["subtype"] for response in written.responses] == ["error"] * 4
    assert written.responses[0]["error"] == "not that"
    assert written.responses[1]["error"] == "Unsupported control request subtype: teleport"


def test_a_later_response_does_not_hold_up_the_next_request() -> None:
    async def play() -> None:
        written, gate = Written(), asyncio.Event()

        async def later(_request: JsonObject) -> Payload:
            await gate.wait()
            return {"at": "last"}

        handlers = ControlHandlers({"later": later, "now": lambda _: None}, written.write)
        handlers.handle("1", {"subtype": "later"})
        handlers.handle("2", {"subtype": "now"})
        await settle()
        gate.set()
        await settle()
        assert [response["request_id"] for response in written.responses] == ["2", "1"]

    asyncio.run(play())


def test_a_later_failure_of_any_kind_is_a_response() -> None:
    async def play() -> None:
        written = Written()

        async def refuse(_request: JsonObject) -> Payload:
            raise UserError("not that")

        async def crash(_request: JsonObject) -> Payload:
            raise ValueError("seven")

        handlers = ControlHandlers({"refuse": refuse, "crash": crash}, written.write)
        handlers.handle("1", {"subtype": "refuse"})
        handlers.handle("2", {"subtype": "crash"})
        await settle()
        assert [response["error"] for response in written.responses] == ["not that", "ValueError: seven"]

    asyncio.run(play())


def test_a_cancelled_request_ends_without_a_response() -> None:
    async def play() -> None:
        written, ended = Written(), asyncio.Event()

        async def endless(_request: JsonObject) -> Payload:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return None

        handlers = ControlHandlers({"endless": endless}, written.write)
        handlers.handle("1", {"subtype": "endless"})
        await settle()
        handlers.cancel("1")
        handlers.cancel("1")
        handlers.cancel("unknown")
        await ended.wait()
        await settle()
        assert written.responses == []

    asyncio.run(play())


def test_closing_ends_what_runs() -> None:
    async def play() -> None:
        written, ended = Written(), asyncio.Event()

        async def endless(_request: JsonObject) -> Payload:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()
            return None

        handlers = ControlHandlers({"endless": endless}, written.write)
        handlers.handle("1", {"subtype": "endless"})
        await settle()
        handlers.close()
        await ended.wait()

    asyncio.run(play())
