"""One HTTP/1.1 connection of a client: receives requests within limits, sends the steps of replies."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from typing import assert_never

import h11
from msgspec import Struct

from bridle.stage.refusal import Refusal, bad_request, refusal
from bridle.stage.reply import Cut, Head, Send, Silence, Step, Wait

# The limit of the Messages API, so that a client that works here works there.
MAX_BODY_BYTES = 32 * 1024 * 1024
# Far above the headers of any client seen (under 4 KB), far below what would harm.
MAX_HEADER_BYTES = 64 * 1024
# A client sends a request at once over loopback; one that takes longer will not finish.
REQUEST_SECONDS = 60.0
# Between two requests an agent runs tools for minutes; a client reopens a closed connection.
IDLE_SECONDS = 600.0
# A client that reads nothing for this long is gone or hangs; a slow reader reads something.
SEND_SECONDS = 60.0
# For reading the client's last bytes after an error: unread bytes make the kernel reset the connection, which loses it.
LINGER_SECONDS = 2.0
# The largest read: a request of 76 KB takes two.
READ_BYTES = 64 * 1024


class Limits(Struct, frozen=True):
    """The limits for one client."""

    body_bytes: int = MAX_BODY_BYTES
    header_bytes: int = MAX_HEADER_BYTES
    request_seconds: float = REQUEST_SECONDS
    idle_seconds: float = IDLE_SECONDS


class HttpRequest(Struct, frozen=True):
    """A complete request."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


class Connection:
    """A client's connection: `receive` and `perform` alternate while `perform` returns True."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: Limits) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self._method = ""

    async def receive(self) -> HttpRequest | Refusal | None:
        """Return the next request, an error for bytes that are not one, or None if the client is gone."""
        if not self._http.trailing_data[0]:
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    await self._read()
            except TimeoutError:
                return None
        try:
            async with asyncio.timeout(self._limits.request_seconds):
                return await self._request()
        except TimeoutError:
            return refusal(408, message=f"no complete request within {self._limits.request_seconds:g} seconds")
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
            return refusal(status, message=f"not an HTTP request: {error}")

    async def perform(self, steps: Iterable[Step]) -> bool:
        """Send a reply step by step; return whether another request can follow."""
        for step in steps:
            if not await self._step(step):
                return False
        await self._send(h11.EndOfMessage())
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def refuse(self, steps: Iterable[Step]) -> None:
        """Send an error for an incomplete request, and read what the client still sends."""
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        await self.perform(steps)
        with contextlib.suppress(OSError):  # disconnected: the client did not wait for the error
            self._writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while await self._reader.read(READ_BYTES):
                    pass

    async def close(self) -> None:
        """Close the connection in any state."""
        self._writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                await self._writer.wait_closed()
        self._writer.transport.abort()

    async def _read(self) -> None:
        self._http.receive_data(await self._reader.read(READ_BYTES))

    async def _request(self) -> HttpRequest | Refusal | None:
        """Read events until a request is complete."""
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    await self._send(h11.InformationalResponse(status_code=100, headers=[]))
                await self._read()
            elif isinstance(event, h11.Request):
                head = event
                self._method = head.method.decode("ascii")
                if _declared_length(head) > self._limits.body_bytes:
                    return self._too_large()
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > self._limits.body_bytes:
                    return self._too_large()
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _received(head, bytes(body))
            elif isinstance(event, h11.ConnectionClosed):
                return None
            else:
                return bad_request("this is not an HTTP request")

    def _too_large(self) -> Refusal:
        return refusal(413, message=f"the body is larger than {self._limits.body_bytes} bytes")

    async def _step(self, step: Step) -> bool:
        """Perform one step; return whether the reply continues."""
        match step:
            case Wait():
                await asyncio.sleep(step.seconds)
            case Head():
                await self._send(h11.Response(status_code=step.status, headers=list(step.headers)))
            case Send():
                if self._method != "HEAD":
                    await self._send(h11.Data(data=step.data))
            case Silence():
                await self._wait_for_disconnect(step.seconds)
                return False
            case Cut():
                return False
            case _:
                assert_never(step)
        return True

    async def _send(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")
        async with asyncio.timeout(SEND_SECONDS):
            await self._writer.drain()

    async def _wait_for_disconnect(self, seconds: float) -> None:
        """Wait until the client closes its side; discard what it still sends."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await self._reader.read(READ_BYTES):
                    pass


def _declared_length(head: h11.Request) -> int:
    return next((int(value) for name, value in head.headers if name == b"content-length"), 0)


def _received(head: h11.Request, body: bytes) -> HttpRequest:
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers)
    return HttpRequest(head.method.decode("ascii"), head.target.decode("latin-1"), headers, body)
