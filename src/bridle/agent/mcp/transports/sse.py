"""A server over the older HTTP transport: one stream of events, and POSTs to the address that its first event names."""

from __future__ import annotations

import asyncio
from urllib.parse import urljoin

from bridle.agent.mcp.transports.messages import decode, encode
from bridle.agent.mcp.transports.remote import RemoteServer, finish, refuse, target_of
from bridle.agent.mcp.transports.transport import JsonObject, Note, Receiver
from bridle.agent.model.api.sse import Reader
from bridle.agent.model.http.address import parse_address
from bridle.agent.model.http.http_client import HttpResponse
from bridle.errors import Error, ServerFailure

CLOSED = "MCP error -32000: Connection closed"


class SseTransport:
    """Receives all messages on one stream, which is open as long as the connection."""

    def __init__(self, server: RemoteServer, url: str, note: Note) -> None:
        self._server, self._url, self._note = server, url, note
        self._task: asyncio.Task[None] | None = None
        self._endpoint: asyncio.Future[str] | None = None

    async def open(self, receiver: Receiver) -> None:
        """Open the stream and wait for the address of the POSTs."""
        response, exchange = await self._server.get({})
        if response.status != 200:
            failure = await refuse(response)
            await finish(exchange)
            raise failure
        self._endpoint = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._read(response, exchange, receiver))
        await asyncio.shield(self._endpoint)

    async def send(self, message: JsonObject) -> None:
        """Send a message; its answer comes on the stream."""
        assert self._endpoint is not None  # noqa: S101 -- for the type checker: it is open
        response, exchange = await self._server.post(encode(message), {}, target=self._endpoint.result())
        try:
            if response.status >= 300:
                raise await refuse(response)
        finally:
            await finish(exchange)

    async def ready(self, protocol_version: str) -> None:
        """Do nothing: the stream is the session."""

    async def close(self) -> None:
        """Close the stream and the connections."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._server.close()

    async def _read(self, response: HttpResponse, exchange: object, receiver: Receiver) -> None:
        reader, reason = Reader(), CLOSED
        try:
            while (chunk := await response.next()) is not None:
                for event in reader.feed(chunk):
                    self._take(event, receiver)
        except Error as error:
            reason = error.message
        finally:
            await exchange.__aexit__(Exception, None, None)  # type: ignore[attr-defined]  # an HttpExchange that is not complete
        if self._endpoint is not None and not self._endpoint.done():
            self._endpoint.set_exception(ServerFailure("the server closed the stream before it named its address"))
        receiver.lost(reason)

    def _take(self, event: bytes, receiver: Receiver) -> None:
        if self._endpoint is not None and not self._endpoint.done():
            self._set_endpoint(event.decode("utf-8", "replace").strip())
            return
        for message in decode(event):
            receiver.receive(message)

    def _set_endpoint(self, text: str) -> None:
        """Set the address of the POSTs, which must be on the same server: the headers may have a key."""
        assert self._endpoint is not None  # noqa: S101 -- for the type checker: it is open
        try:
            url = urljoin(self._url, text)
            address, own = parse_address(url), parse_address(self._url)
        except (Error, ValueError) as error:
            self._endpoint.set_exception(ServerFailure(f"the server named an address that is not valid: {error}"))
            return
        if (address.scheme, address.authority) != (own.scheme, own.authority):
            self._endpoint.set_exception(ServerFailure("the server named an address on another server"))
        else:
            self._endpoint.set_result(target_of(url))
