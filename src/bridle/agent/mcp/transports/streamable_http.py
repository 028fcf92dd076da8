"""A server over streamable HTTP: each message is a POST; answers come as JSON or as server-sent events."""

from __future__ import annotations

import asyncio
from typing import Any

from bridle.agent.mcp.transports.messages import decode, encode
from bridle.agent.mcp.transports.remote import EVENTS, RemoteServer, finish, read_body, refuse
from bridle.agent.mcp.transports.transport import JsonObject, Note, Receiver
from bridle.agent.model.api.sse import Reader
from bridle.agent.model.http.http_client import HttpResponse
from bridle.errors import Error, ServerFailure

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"
# The server may be gone at the end; nothing depends on its answer.
END_SECONDS = 1.0
# A stream of notifications that the server closes is opened again after this time.
REOPEN_SECONDS = 1.0


class HttpTransport:
    """Sends messages by POST, and listens to notifications on a GET stream if the server has one."""

    def __init__(self, server: RemoteServer, note: Note) -> None:
        self._server, self._note = server, note
        self._headers: dict[str, str] = {}
        self._receiver: Receiver | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, receiver: Receiver) -> None:
        """Note the receiver: the first message connects."""
        self._receiver = receiver

    async def send(self, message: JsonObject) -> None:
        """Send a message and deliver what the server answers."""
        assert self._receiver is not None  # noqa: S101 -- for the type checker: it is open
        accept = {"accept": f"application/json, {EVENTS}"}
        response, exchange = await self._server.post(encode(message), {**accept, **self._headers})
        try:
            if response.status == 404 and SESSION in self._headers:
                self._receiver.lost("the session has expired at the server")
                raise ServerFailure("the session has expired at the server")
            if response.status >= 300:
                raise await refuse(response)
            if (session := response.headers.get(SESSION)) is not None:
                self._headers[SESSION] = session
            is_answered = await self._deliver(response, message.get("id"))
            if "method" in message and "id" in message and not is_answered:
                raise ServerFailure(_not_an_answer(response))
        finally:
            await finish(exchange)

    async def ready(self, protocol_version: str) -> None:
        """Name the protocol version from now on, and listen to notifications."""
        self._headers[VERSION] = protocol_version
        self._tasks.add(asyncio.create_task(self._listen()))

    async def close(self) -> None:
        """End the session at the server, and the connections."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if SESSION in self._headers:
            try:
                async with asyncio.timeout(END_SECONDS):
                    await self._server.delete(self._headers)
            except (Error, TimeoutError):
                pass
        self._server.close()

    async def _deliver(self, response: HttpResponse, number: Any = None) -> bool:
        """Deliver the messages of a response; return whether one of them answers the request of that number."""
        if EVENTS in response.headers.get("content-type", ""):
            return await self._deliver_events(response, number)
        return self._deliver_all(await read_body(response), number)

    async def _deliver_events(self, response: HttpResponse, number: Any = None) -> bool:
        reader, is_answered = Reader(), False
        try:
            while (chunk := await response.next()) is not None:
                for event in reader.feed(chunk):
                    is_answered |= self._deliver_all(event, number)
        except Error as error:
            raise ServerFailure(error.message) from error
        return is_answered

    def _deliver_all(self, data: bytes, number: Any) -> bool:
        assert self._receiver is not None  # noqa: S101 -- for the type checker: it is open
        messages = decode(data)
        for message in messages:
            self._receiver.receive(message)
        return any(isinstance(message, dict) and str(message.get("id")) == str(number) for message in messages)

    async def _listen(self) -> None:
        """Receive what the server sends on its own; a server without that answers 405."""
        while True:
            try:
                response, exchange = await self._server.get(self._headers)
                try:
                    if response.status != 200:
                        return
                    await self._deliver_events(response)
                finally:
                    await finish(exchange)
            except Error as error:
                self._note(f"the notifications of an MCP server ended: {error.message}")
                return
            await asyncio.sleep(REOPEN_SECONDS)


def _not_an_answer(response: HttpResponse) -> str:
    kind = response.headers.get("content-type", "").partition(";")[0].strip()
    if kind in ("application/json", EVENTS):
        return f"the server did not answer the request (HTTP {response.status})"
    return f"the server sent no answer (HTTP {response.status})" + (f" but {kind}" if kind else "")
