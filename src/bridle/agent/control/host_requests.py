"""Control requests to the host: sent, matched with their responses, cancelled, and failed when the host is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bridle.errors import HostFailure
from bridle.wire.control.control_messages import SUCCESS
from bridle.wire.events.encode import encode
from bridle.wire.events.events import ControlRequest, ControlResponse
from bridle.wire.events.loose_json import JsonObject, to_bytes

CLOSED = "stream closed before response received"
"""Why a request fails that was pending when the host closed its input."""
ALREADY_CLOSED = "Stream closed"
"""Why a later one fails."""


class HostRequests:
    """Sends requests to the host. Any number may be pending; responses arrive in any order."""

    def __init__(self, write: Callable[[bytes], None], new_id: Callable[[], str]) -> None:
        self._write, self._new_id = write, new_id
        self._pending: dict[str, asyncio.Future[JsonObject]] = {}
        self._is_closed = False

    async def send(self, request: JsonObject) -> JsonObject:
        """Send a request and return the payload of its response.

        Raises HostFailure if the host reports an error, or closes its input before it responds. A cancelled request is
        cancelled at the host too.
        """
        if self._is_closed:
            raise HostFailure(ALREADY_CLOSED)
        request_id = self._new_id()
        response: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = response
        self._write(encode(ControlRequest(request_id=request_id, request=request)))
        try:
            return await response
        except asyncio.CancelledError:
            if not self._is_closed:
                self._write(to_bytes({"type": "control_cancel_request", "request_id": request_id}) + b"\n")
            raise
        finally:
            self._pending.pop(request_id, None)

    def receive(self, response: ControlResponse) -> None:
        """Deliver a response; one to no pending request is ignored."""
        answer = response.response
        pending = self._pending.get(str(answer.get("request_id")))
        if pending is None or pending.done():
            return
        if answer.get("subtype") == SUCCESS:
            payload = answer.get("response")
            pending.set_result(payload if isinstance(payload, dict) else {})
        else:
            pending.set_exception(HostFailure(str(answer.get("error") or "the host reported no reason")))

    def close(self) -> None:
        """Fail all pending requests, and those that follow: the host has closed its input."""
        self._is_closed = True
        for pending in self._pending.values():
            if not pending.done():
                pending.set_exception(HostFailure(CLOSED))
