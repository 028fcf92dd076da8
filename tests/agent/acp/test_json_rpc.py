"""Lines of JSON-RPC, and the connection that answers them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bridle.agent.acp.json_rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Answer,
    Call,
    Invalid,
    RpcError,
    read_message,
)
from bridle.agent.acp.peer import Peer
from bridle.errors import UsageError


def read(**fields: Any) -> Call | Answer | Invalid:
    return read_message(json.dumps({"jsonrpc": "2.0", **fields}).encode())


def test_requests_notifications_and_responses_are_told_apart() -> None:
    assert read(id=1, method="m", params={"a": 1}) == Call("m", {"a": 1}, 1, is_request=True)
    assert read(id=None, method="m") == Call("m", {}, None, is_request=True)
    assert read(method="m") == Call("m", {})
    assert read(id="x", result={"a": 1}) == Answer("x", {"a": 1})
    failed = read(id="x", error={"code": 5, "message": "no"})
    assert isinstance(failed, Answer)
    assert failed.error is not None
    assert (failed.error.code, failed.error.message) == (5, "no")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"oops", PARSE_ERROR),
        (b"", PARSE_ERROR),
        (b"[]", INVALID_REQUEST),
        (b"{}", INVALID_REQUEST),
        (b'{"method": 3}', INVALID_REQUEST),
        (b'{"method": "m", "params": [1]}', INVALID_PARAMS),
    ],
)
def test_what_is_no_message_has_the_error_that_its_sender_gets(line: bytes, code: int) -> None:
    found = read_message(line)
    assert isinstance(found, Invalid)
    assert found.error.code == code


class Wire:
    """A connection whose lines are kept."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.peer = Peer(lambda line: self.lines.append(json.loads(line)), self._handle)

    async def _handle(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "echo":
                return params
            case "ask":
                return await self.peer.request("question", params)
            case "user error":
                raise UsageError("wrong", remedy="Correct it.")
            case "own error":
                raise RpcError(-1, "own", {"more": 1})
        raise ValueError(method)

    async def send(self, **fields: Any) -> None:
        self.peer.receive(json.dumps(fields).encode())
        await asyncio.sleep(0)
        await asyncio.sleep(0)


def test_each_request_is_answered_once_and_a_notification_never() -> None:
    async def run() -> list[dict[str, Any]]:
        wire = Wire()
        await wire.send(id=1, method="echo", params={"a": 1})
        await wire.send(method="echo", params={"a": 1})
        await wire.send(method="unknown")
        await wire.send(id=2, method="own error")
        await wire.send(id=3, method="user error")
        await wire.send(id=4, method="unknown")
        wire.peer.receive(b"oops")
        return wire.lines

    lines = asyncio.run(run())
    assert lines[0] == {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    assert lines[1]["error"] == {"code": -1, "message": "own", "data": {"more": 1}}
    assert lines[2]["error"]["message"] == "wrong\n  Correct it."
    assert (lines[3]["id"], lines[3]["error"]["code"]) == (4, INTERNAL_ERROR)
    assert (lines[4]["id"], lines[4]["error"]["code"]) == (None, PARSE_ERROR)
    assert len(lines) == 5


def test_questions_to_the_other_side_run_side_by_side_and_fail_when_it_is_gone() -> None:
    async def run() -> list[dict[str, Any]]:
        wire = Wire()
        for number in (1, 2, 3, 4):
            await wire.send(id=number, method="ask", params={"n": number})
        await wire.send(id=wire.lines[1]["id"], result="two")
        await wire.send(id=wire.lines[0]["id"], error={"code": 7, "message": "no"})
        await wire.send(id=99, result="nobody asked")
        wire.peer.close()
        await wire.peer.drained()
        return wire.lines[4:]

    answers = {line["id"]: line for line in asyncio.run(run())}
    assert answers[2]["result"] == "two"
    assert answers[1]["error"]["code"] == 7
    assert answers[3]["error"]["message"] == answers[4]["error"]["message"] == "the editor closed the connection"
