"""The other side of the connection, the editor: requests to it, and its requests as tasks that run side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from bridle.agent.acp.json_rpc import (
    INTERNAL_ERROR,
    Answer,
    Call,
    Id,
    Invalid,
    RpcError,
    error_line,
    notification_line,
    read_message,
    request_line,
    result_line,
)
from bridle.errors import Error
from bridle.wire.events.loose_json import JsonObject

Handler = Callable[[str, JsonObject], Awaitable[Any]]


class Peer:
    """Sends and receives the messages of one connection."""

    def __init__(self, write: Callable[[bytes], None], handle: Handler) -> None:
        """`write` sends a line; `handle` answers a method, or raises RpcError."""
        self._write, self._handle = write, handle
        self._next_id = 0
        self._pending: dict[Id, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def receive(self, line: bytes) -> None:
        """Handle a line that was read."""
        match message := read_message(line):
            case Call():
                task = asyncio.create_task(self._answer(message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            case Answer():
                self._deliver(message)
            case Invalid():
                self._write(error_line(message.id, message.error))

    async def request(self, method: str, params: JsonObject) -> Any:
        """Send a request and return its result. Raises RpcError if the editor reports an error."""
        self._next_id += 1
        message_id = self._next_id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._pending[message_id] = answer
        self._write(request_line(message_id, method, params))
        try:
            return await answer
        finally:
            self._pending.pop(message_id, None)

    def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification."""
        self._write(notification_line(method, params))

    def close(self) -> None:
        """Fail the requests that wait for the editor: it has closed its side."""
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(RpcError(INTERNAL_ERROR, "the editor closed the connection"))

    async def drained(self) -> None:
        """Wait until every request of the editor has its response."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _deliver(self, answer: Answer) -> None:
        pending = self._pending.get(answer.id)
        if pending is None or pending.done():
            return
        if answer.error is not None:
            pending.set_exception(answer.error)
        else:
            pending.set_result(answer.result)

    async def _answer(self, call: Call) -> None:
        try:
            result = await self._handle(call.method, call.params)
        except RpcError as error:
            self._report(call, error)
        except Error as error:
            self._report(call, RpcError(INTERNAL_ERROR, str(error)))
        except Exception as error:  # noqa: BLE001  # the edge: the editor gets every error as a response
            self._report(call, RpcError(INTERNAL_ERROR, f"internal error: {type(error).__name__}: {error}"))
        else:
            if call.is_request:
                self._write(result_line(call.id, result))

    def _report(self, call: Call, error: RpcError) -> None:
        if call.is_request:
            self._write(error_line(call.id, error))
