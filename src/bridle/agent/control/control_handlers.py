"""Control requests of the host: each subtype has a handler, whose payload or error is the response."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import TypeAlias

import msgspec

from bridle.errors import Error
from bridle.wire.control import control_messages
from bridle.wire.control.control_messages import RequestId
from bridle.wire.events.encode import encode
from bridle.wire.events.loose_json import JsonObject

Payload: TypeAlias = JsonObject | None


class Extended(msgspec.Struct, frozen=True):
    """The payload of a response that has more fields of its own beside it."""

    payload: Payload
    fields: JsonObject


# Takes the content of a request and returns the payload of its response, at once or later. Raises Error with the text
# of the error response.
Handler: TypeAlias = Callable[[JsonObject], Payload | Extended | Awaitable[Payload]]


class ControlHandlers:
    """Answers the requests of the host as they come, also during a turn.

    A handler that returns its payload at once is done before the next line of input is read. One that returns an
    awaitable runs beside the turn; the host may cancel it, and then gets no response.
    """

    def __init__(self, handlers: Mapping[str, Handler], write: Callable[[bytes], None]) -> None:
        self._handlers, self._write = handlers, write
        self._running: dict[RequestId, asyncio.Future[None]] = {}

    def handle(self, request_id: RequestId, request: JsonObject) -> None:
        """Answer a request; an unknown one gets an error, and the session continues."""
        subtype = request.get("subtype")
        handler = self._handlers.get(subtype) if isinstance(subtype, str) else None
        if handler is None:
            self._write(encode(control_messages.unsupported(request_id, subtype)))
            return
        try:
            payload = handler(request)
        except Error as error:
            self._fail(request_id, error)
            return
        if isawaitable(payload):
            self._start(request_id, payload)
        else:
            self._succeed(request_id, payload)

    def cancel(self, request_id: RequestId) -> None:
        """Cancel a request that runs; the host gets no response to it."""
        running = self._running.get(request_id)
        if running is not None:
            running.cancel()

    def close(self) -> None:
        """Cancel the requests that run: the process ends."""
        for running in self._running.values():
            running.cancel()

    def _start(self, request_id: RequestId, payload: Awaitable[Payload]) -> None:
        task = asyncio.ensure_future(self._answer(request_id, payload))
        self._running[request_id] = task
        task.add_done_callback(lambda _task: self._running.pop(request_id, None))

    async def _answer(self, request_id: RequestId, payload: Awaitable[Payload]) -> None:
        try:
            self._succeed(request_id, await payload)
        except Error as error:
            self._fail(request_id, error)
        except Exception as error:  # noqa: BLE001  # the host gets a response whatever happens
            self._fail(request_id, Error(f"{type(error).__name__}: {error}"))

    def _succeed(self, request_id: RequestId, answer: Payload | Extended) -> None:
        whole = answer if isinstance(answer, Extended) else Extended(answer, {})
        self._write(encode(control_messages.success(request_id, whole.payload, whole.fields)))

    def _fail(self, request_id: RequestId, error: Error) -> None:
        self._write(encode(control_messages.failure(request_id, error.message)))
