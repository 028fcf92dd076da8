"""JSON-RPC with one server: requests matched with responses, and the requests of the server answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from bridle.agent.mcp.transports.transport import JsonObject, Transport
from bridle.errors import ServerFailure

# A longer text is not the number of a request.
ID_DIGITS = 16
METHOD_NOT_FOUND = {"code": -32601, "message": "Method not found"}


class RpcConnection:
    """Sends requests over a transport; responses may come in any order."""

    def __init__(
        self,
        transport: Transport,
        *,
        root: str,
        on_notification: Callable[[str], None],
        on_lost: Callable[[str], None],
    ) -> None:
        """`root` is the URI of the project; `on_notification` gets the method of each notification."""
        self._transport, self._root = transport, root
        self._on_notification, self._on_lost = on_notification, on_lost
        self._pending: dict[int, asyncio.Future[JsonObject]] = {}
        self._next_id = 0
        self._answers: set[asyncio.Task[None]] = set()
        self.lost_because: str | None = None
        """Why the connection has ended; None while it is open."""

    async def open(self) -> None:
        """Connect. Raises ServerFailure."""
        await self._transport.open(self)

    async def ready(self, protocol_version: str) -> None:
        """Notify the transport that the session is initialized."""
        await self._transport.ready(protocol_version)

    async def request(self, method: str, params: JsonObject | None = None) -> JsonObject:
        """Send a request and return its result; a cancelled one is cancelled at the server. Raises ServerFailure."""
        if self.lost_because is not None:
            raise ServerFailure(self.lost_because)
        number, self._next_id = self._next_id, self._next_id + 1
        response: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._pending[number] = response
        message: JsonObject = {"jsonrpc": "2.0", "id": number, "method": method}
        if params is not None:
            message["params"] = _with_progress(params, number) if method == "tools/call" else params
        sending = asyncio.ensure_future(self._transport.send(message))
        try:
            return await self._answer_to(sending, response)
        except asyncio.CancelledError:
            if method != "initialize":
                self.notify("notifications/cancelled", {"requestId": number})
            raise
        finally:
            self._pending.pop(number, None)
            if not sending.done():
                sending.cancel()

    async def _answer_to(self, sending: asyncio.Future[None], response: asyncio.Future[JsonObject]) -> JsonObject:
        """Wait for the response, which may come before the request is sent completely."""
        await asyncio.wait((sending, response), return_when=asyncio.FIRST_COMPLETED)
        if not response.done():
            if sending.exception() is not None:
                await sending
            await response
        elif sending.done() and not sending.cancelled():
            sending.exception()
        return await response

    def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Send a notification in the background; a failure shows with the next request."""
        self._send_later({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    async def notify_now(self, method: str) -> None:
        """Send a notification and wait until it is sent."""
        await self._transport.send({"jsonrpc": "2.0", "method": method})

    async def close(self) -> None:
        """Fail what waits, and end the connection."""
        self.lost_because = self.lost_because or "the server was disconnected"
        self.fail_pending(self.lost_because)
        for task in list(self._answers):
            task.cancel()
        await self._transport.close()

    # What the transport delivers.

    def receive(self, message: Any) -> None:
        """Take a message of the server; one that is not JSON-RPC is ignored."""
        match message:
            case {"method": str(method), "id": (int() | str()) as number}:
                self._send_later({"jsonrpc": "2.0", "id": number, **self._reply(method)})
            case {"method": str(method)}:
                self._on_notification(method)
            case {"id": number} if (
                waiting := self._pending.get(_as_number(number))
            ) is not None and not waiting.done():
                self._settle(waiting, message)

    def fail_pending(self, reason: str) -> None:
        """Fail the requests that wait."""
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_exception(ServerFailure(reason))

    def lost(self, reason: str) -> None:
        """Note the end of the connection."""
        if self.lost_because is None:
            self.lost_because = reason
            self.fail_pending(reason)
            self._on_lost(reason)

    def _settle(self, waiting: asyncio.Future[JsonObject], message: JsonObject) -> None:
        match message:
            case {"error": {"message": text, "code": int(code)}}:
                waiting.set_exception(ServerFailure(f"MCP error {code}: {text}", rpc_code=code))
            case {"error": _}:
                waiting.set_exception(ServerFailure("the server reported an error without a message"))
            case {"result": dict(result)}:
                waiting.set_result(result)
            case _:
                waiting.set_exception(ServerFailure("the server sent a response without a result"))

    def _reply(self, method: str) -> JsonObject:
        """Return the answer to a request of the server: no user is there to be asked."""
        match method:
            case "ping":
                return {"result": {}}
            case "roots/list":
                return {"result": {"roots": [{"uri": self._root}]}}
            case "elicitation/create":
                return {"result": {"action": "cancel"}}
        return {"error": METHOD_NOT_FOUND}

    def _send_later(self, message: JsonObject) -> None:
        async def send() -> None:
            try:
                await self._transport.send(message)
            except ServerFailure:
                pass

        task = asyncio.ensure_future(send())
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)


def _as_number(sent: Any) -> int:
    """Return the number of a request; some servers send it back as a text. -1 if it names none."""
    if isinstance(sent, str) and sent.isascii() and sent.isdigit() and len(sent) < ID_DIGITS:
        return int(sent)
    return sent if isinstance(sent, int) and not isinstance(sent, bool) else -1


def _with_progress(params: JsonObject, number: int) -> JsonObject:
    return {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
