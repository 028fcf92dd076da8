"""A connection to one server over TCP or TLS. Every wait has a timeout.

The kinds of NetworkError:

    refused      the port is closed
    unreachable  the name is unknown, or there is no route to the host
    reset        the connection was closed before any part of a response
    cut          it was closed during a response
    slow         a timeout expired
    tls          the certificate or the handshake failed
    proxy        the proxy refused the connection
    garbled      the data is not HTTP
"""

from __future__ import annotations

import asyncio
import errno
import ssl
from collections.abc import Callable

from bridle.errors import NetworkError

# Reading from the network pauses when this much is unread.
READ_AHEAD_BYTES = 1024 * 1024

# A peer may never answer the end of a TLS session; nothing depends on it.
TLS_END_SECONDS = 1.0


class Connection(asyncio.Protocol):
    """One connection, opened by `open_connection`."""

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
        """Whether neither side has closed it."""
        return self._transport is not None and not self._ended and not self._transport.is_closing()

    @property
    def has_unread(self) -> bool:
        return bool(self._received)

    async def read(self, limit_seconds: float) -> bytes:
        """Return received bytes, at least one; empty if the peer has closed."""
        while not self._received and not self._ended:
            await self._wait_for_data(limit_seconds)
        if self._received:
            data = bytes(self._received)
            self._received.clear()
            if self._reading_paused and self._transport is not None and not self._ended:
                self._transport.resume_reading()
                self._reading_paused = False
            return data
        if self._error is not None:
            raise NetworkError(f"the connection was lost: {self._error}", kind="reset") from self._error
        return b""

    async def write(self, data: bytes, limit_seconds: float) -> None:
        """Send everything."""
        if self._transport is None or self._ended:
            raise NetworkError("the server closed the connection", kind="reset")
        self._transport.write(data)
        try:
            async with asyncio.timeout(limit_seconds):
                await self._room.wait()
        except TimeoutError as error:
            raise _timeout("the server accepts no data", limit_seconds) from error

    def close(self) -> None:
        """Close it immediately."""
        if self._transport is not None:
            self._transport.abort()

    async def secure(self, context: ssl.SSLContext, host: str, limit_seconds: float) -> None:
        """Start TLS."""
        assert self._transport is not None  # noqa: S101  # for the type checker: only an open connection gets here
        if self._received:
            raise NetworkError("the server sent data before TLS was started", kind="garbled")
        self._transport = await self._loop.start_tls(
            self._transport,
            self,
            context,
            server_hostname=host,
            ssl_handshake_timeout=limit_seconds,
            ssl_shutdown_timeout=TLS_END_SECONDS,
        )
        if self._transport is None:
            raise NetworkError("the server closed the connection during the TLS handshake", kind="tls")

    # Callbacks of asyncio.

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

    async def _wait_for_data(self, limit_seconds: float) -> None:
        self._waiter = self._loop.create_future()
        try:
            async with asyncio.timeout(limit_seconds):
                await self._waiter
        except TimeoutError as error:
            raise _timeout("no data", limit_seconds) from error
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def open_connection(
    host: str, port: int, *, limit_seconds: float, tls: Callable[[], ssl.SSLContext] | None
) -> Connection:
    """Connect to any address of a host; with `tls`, include the handshake."""
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
        raise _timeout(f"no connection to {place}", limit_seconds) from error
    except (OSError, ssl.CertificateError) as error:
        raise connection_error(error, place) from error
    return connection


def connection_error(error: Exception, place: str) -> NetworkError:
    if isinstance(error, ssl.SSLError):
        reason = getattr(error, "verify_message", None) or error.reason or str(error)
        remedy = "Set NODE_EXTRA_CA_CERTS or SSL_CERT_FILE to the certificate of your proxy or gateway."
        return NetworkError(f"TLS connection to {place} failed: {reason}", kind="tls", remedy=remedy)
    if isinstance(error, ConnectionRefusedError) or f"[Errno {errno.ECONNREFUSED}]" in str(error):
        return NetworkError(f"connection to {place} refused", kind="refused")
    if isinstance(error, ConnectionResetError | ConnectionAbortedError | BrokenPipeError):
        return NetworkError(f"{place} closed the connection", kind="reset")
    return NetworkError(f"{place} is unreachable: {error}", kind="unreachable")


def _timeout(event: str, limit_seconds: float) -> NetworkError:
    return NetworkError(f"{event} for {limit_seconds:g} seconds", kind="slow")
