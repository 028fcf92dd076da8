"""Bytes to and from one server: over TCP, TLS, or through a proxy. Every wait has a limit.

The kinds of NetworkError, so that a caller can tell them apart:

    refused      nobody listens there
    unreachable  the name is unknown, or there is no way to the host
    reset        the connection ended before anything of an answer came
    cut          it ended in the middle of an answer
    slow         a limit of time was over
    tls          the server's certificate, or the handshake, was not good
    proxy        the proxy did not let us through
    garbled      what came is not HTTP
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable

from bridle.errors import NetworkError

# More than this is not taken in before somebody reads it: the answer waits in the network instead of in memory.
READ_AHEAD_BYTES = 1024 * 1024

# A peer that is asked to end a TLS session may never answer; nothing depends on its answer.
TLS_END_SECONDS = 1.0


class Connection(asyncio.Protocol):
    """One connection; made by `open_connection`, let go by `close`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._ended = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._room = asyncio.Event()
        self._room.set()
        self._reading_paused = False

    @property
    def is_open(self) -> bool:
        """Whether both sides still hold it; data that nobody asked for counts as not."""
        return self._transport is not None and not self._ended and not self._transport.is_closing()

    @property
    def has_unread(self) -> bool:
        """Whether bytes are here that nobody has read."""
        return bool(self._received)

    async def read(self, limit_seconds: float) -> bytes:
        """Give what has come, at least a byte; empty when the other side has ended."""
        while not self._received and not self._ended:
            await self._news(limit_seconds)
        if self._received:
            data = bytes(self._received)
            self._received.clear()
            self._resume()
            return data
        if self._error is not None:
            raise NetworkError(f"the connection broke: {self._error}", kind="reset") from self._error
        return b""

    async def write(self, data: bytes, limit_seconds: float) -> None:
        """Send everything."""
        if self._transport is None or self._ended:
            raise NetworkError("the server ended the connection", kind="reset")
        self._transport.write(data)
        try:
            async with asyncio.timeout(limit_seconds):
                await self._room.wait()
        except TimeoutError as error:
            raise _slow("the server takes in nothing", limit_seconds) from error

    def close(self) -> None:
        """Let go of it at once."""
        if self._transport is not None:
            self._transport.abort()

    async def secure(self, context: ssl.SSLContext, host: str, limit_seconds: float) -> None:
        """Speak TLS from here on."""
        assert self._transport is not None  # noqa: S101  # for the type checker: only an open connection gets here
        if self._received:
            raise NetworkError("the other side spoke before TLS was begun", kind="garbled")
        self._transport = await self._loop.start_tls(
            self._transport,
            self,
            context,
            server_hostname=host,
            ssl_handshake_timeout=limit_seconds,
            ssl_shutdown_timeout=TLS_END_SECONDS,
        )
        if self._transport is None:
            raise NetworkError("the server ended the connection in the TLS handshake", kind="tls")

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # create_connection makes a Transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) > READ_AHEAD_BYTES and not self._reading_paused and self._transport is not None:
            self._transport.pause_reading()
            self._reading_paused = True
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._error = self._error or exc
        self._room.set()
        self._wake()

    def pause_writing(self) -> None:
        self._room.clear()

    def resume_writing(self) -> None:
        self._room.set()

    async def _news(self, limit_seconds: float) -> None:
        self._waiter = self._loop.create_future()
        try:
            async with asyncio.timeout(limit_seconds):
                await self._waiter
        except TimeoutError as error:
            raise _slow("nothing came", limit_seconds) from error
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _resume(self) -> None:
        if self._reading_paused and self._transport is not None and not self._ended:
            self._transport.resume_reading()
            self._reading_paused = False


async def open_connection(
    host: str, port: int, *, limit_seconds: float, tls: Callable[[], ssl.SSLContext] | None
) -> Connection:
    """Connect to a host by any of its addresses; with `tls`, the handshake is part of it."""
    loop = asyncio.get_running_loop()
    place = f"{host}:{port}"
    context = tls() if tls is not None else None
    connection = Connection()
    try:
        async with asyncio.timeout(limit_seconds):
            await loop.create_connection(
                lambda: connection,
                host,
                port,
                ssl=context,
                server_hostname=host if context is not None else None,
                ssl_shutdown_timeout=TLS_END_SECONDS if context is not None else None,
            )
    except TimeoutError as error:
        raise _slow(f"no connection to {place}", limit_seconds) from error
    except (OSError, ssl.CertificateError) as error:
        raise connection_error(error, place) from error
    return connection


def connection_error(error: Exception, place: str) -> NetworkError:
    """What kept a connection from being made."""
    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", None) or error.reason or str(error)
        remedy = "Name the certificate of your proxy or gateway in NODE_EXTRA_CA_CERTS or SSL_CERT_FILE."
        return NetworkError(f"no secure connection to {place}: {reason}", kind="tls", remedy=remedy)
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return NetworkError(f"nobody listens at {place}", kind="refused")
    if isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return NetworkError(f"{place} ended the connection", kind="reset")
    return NetworkError(f"no way to {place}: {error}", kind="unreachable")


def _slow(what: str, limit_seconds: float) -> NetworkError:
    return NetworkError(f"{what} for {limit_seconds:g} seconds", kind="slow")
