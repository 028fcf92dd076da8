"""Control requests to the host: sent, matched with their responses, cancelled, and failed when the host is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.agent.stdio.shorten import restore, shorten_to_fit
from bridle.errors import HostFailure
from bridle.wire.events.loose_json import JsonObject, to_bytes

if TYPE_CHECKING:
    from bridle.wire.events.events import ControlResponse

CLOSED = "stream closed before response received"
"""Why a request fails that was pending when the host closed its input."""
ALREADY_CLOSED = "Stream closed"
"""Why a later one fails."""


class HostRequests:
    """Sends requests to the host. Any number may be pending; responses arrive in any order."""

    def __init__(
        self, write: Callable[[bytes], None], new_id: Callable[[], str], *, line_limit_bytes: int | None = None
    ) -> None:
        """`line_limit_bytes` is the longest line that the host reads."""
        self._write, self.new_id, self._line_limit = write, new_id, line_limit_bytes
        self._pending: dict[str, asyncio.Future[JsonObject]] = {}
        self._prompts: dict[str, JsonObject] = {}
        self._is_closed = False

    async def send(self, request: JsonObject) -> JsonObject:
        """Send a request and return the payload of its response.

        Raises HostFailure if the host reports an error, or closes its input before it responds. A cancelled request is
        cancelled at the host too. In a request that is too long for the host texts and lists are shortened; where the
        response repeats one of them, it has the original again.
        """
        if self._is_closed:
            raise HostFailure(ALREADY_CLOSED)
        request_id = self.new_id()
        cut: JsonObject = {}
        line = self._line(request_id, request, cut)
        response: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._pending[request_id] = response
        if request.get("subtype") == "can_use_tool":
            self._prompts[request_id] = _whole(request_id, request)
        self._write(line)
        try:
            answer = await response
            return restore(answer, cut) if cut else answer
        except asyncio.CancelledError:
            if not self._is_closed:
                self._write(to_bytes({"type": "control_cancel_request", "request_id": request_id}) + b"\n")
            raise
        finally:
            self._pending.pop(request_id, None)
            self._prompts.pop(request_id, None)

    @property
    def prompts(self) -> list[JsonObject]:
        """The requests about calls that the host has not answered yet, as they were sent."""
        return list(self._prompts.values())

    def _line(self, request_id: str, request: JsonObject, cut: JsonObject) -> bytes:
        whole = _whole(request_id, request)
        line = to_bytes(whole) + b"\n"
        if self._line_limit is None or len(line) <= self._line_limit:
            return line
        # A server in the host acts on what it receives, so nothing may be missing there.
        is_call = request.get("subtype") == "mcp_message"
        shorter = None if is_call else shorten_to_fit(whole, self._line_limit, cut)
        if shorter is None:
            raise HostFailure(
                f"the message for the host has {len(line):,} bytes, and the Python SDK reads {self._line_limit:,}; "
                "pass large content in a file"
            )
        return shorter + b"\n"

    def receive(self, response: ControlResponse) -> None:
        """Deliver a response; one to no pending request is ignored."""
        from bridle.wire.control.control_messages import SUCCESS  # late: few agents have a host

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


def _whole(request_id: str, request: JsonObject) -> JsonObject:
    return {"type": "control_request", "request_id": request_id, "request": request}
