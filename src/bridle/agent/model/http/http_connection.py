"""HTTP/1.1 on one connection: one request and response after the other."""

from __future__ import annotations

import asyncio

import h11

from bridle.agent.model.http.socket import Connection
from bridle.errors import NetworkError

# For a request of 32 MB, the maximum of the endpoint, on a slow network.
SEND_SECONDS = 120.0
# The last bytes of a complete response are already on their way; otherwise a new connection is faster.
ENDING_SECONDS = 1.0
# Servers close idle connections after a minute or more.
KEEP_SECONDS = 50.0
# Servers send a few kilobytes.
HEAD_BYTES = 256 * 1024


class HttpConnection:
    """A connection and its HTTP state."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._loop = asyncio.get_running_loop()
        self._idle_since = self._loop.time()
        self._has_begun = False
        self._is_over = False
        self.was_used = False

    @property
    def can_be_kept(self) -> bool:
        """Whether it can be reused after the rest of this response."""
        return self._connection.is_open and self._http.their_state in (h11.SEND_BODY, h11.DONE)

    async def is_ready(self) -> bool:
        """Return whether an idle connection can be reused: it is recent, open, and its last response is complete."""
        if not self._connection.is_open or self._loop.time() - self._idle_since > KEEP_SECONDS:
            return False
        try:
            async with asyncio.timeout(ENDING_SECONDS):
                while self._http.their_state is h11.SEND_BODY:
                    if await self.body(ENDING_SECONDS):
                        return False
        except (NetworkError, TimeoutError):
            return False
        if self._http.their_state is not h11.DONE or self._http.our_state is not h11.DONE:
            return False
        if self._http.trailing_data[0] or self._connection.has_unread:
            return False
        self._http.start_next_cycle()
        return self._connection.is_open

    async def send(self, request: h11.Request, body: bytes, seconds: float) -> h11.Response:
        """Send a request and wait for the response headers."""
        self.was_used = True
        self._has_begun = False
        parts = (self._http.send(request), self._http.send(h11.Data(body)), self._http.send(h11.EndOfMessage()))
        try:
            async with asyncio.timeout(seconds):
                await self._connection.write(b"".join(part for part in parts if part), SEND_SECONDS)
                while True:
                    event = await self._event(seconds)
                    if isinstance(event, h11.Response):
                        self._has_begun = True
                        return event
        except TimeoutError as error:
            raise NetworkError(f"no response for {seconds:g} seconds", kind="slow") from error

    async def body(self, seconds: float) -> bytes | None:
        """Return the next part of the body; None at its end."""
        event = await self._event(seconds)
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self._idle_since = self._loop.time()
        return None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _event(self, seconds: float) -> h11.Event:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = await self._connection.read(seconds)
                self._is_over = not data
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise self._fault(error) from error
        except NetworkError as error:
            if error.kind == "reset" and self._has_begun:
                raise NetworkError("the connection was lost during the response", kind="cut") from error
            raise
        if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
            raise NetworkError("the server closed the connection without a response", kind="reset")
        assert not isinstance(event, type)  # noqa: S101  # for the type checker: both sentinels are handled above
        return event

    def _fault(self, error: h11.RemoteProtocolError) -> NetworkError:
        """Return the error for a protocol violation: not HTTP, or an unexpected end."""
        if not self._is_over:
            return NetworkError(f"the response is not HTTP: {error}", kind="garbled")
        if self._has_begun:
            return NetworkError("the connection was lost during the response", kind="cut")
        return NetworkError("the server closed the connection without a response", kind="reset")
