"""An HTTP/1.1 client for one server, on asyncio and h11, that reuses its connections."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING

import h11
from msgspec import Struct

from bridle.agent.model.http.address import Address
from bridle.agent.model.http.http_connection import HttpConnection
from bridle.agent.model.http.proxy import Proxy, proxy_for, tunnel
from bridle.agent.model.http.socket import Connection, connection_error, open_connection
from bridle.errors import NetworkError, UsageError

if TYPE_CHECKING:
    from bridle.agent.model.http.content_coding import Decoder

# A reachable host answers within a second; thirty allow for a bad network before the next retry.
CONNECT_SECONDS = 30.0
# As long as the official clients wait; a large answer without streaming takes minutes.
HEADERS_SECONDS = 600.0
# A stream has a ping every few seconds; a local server may process a long prompt first.
IDLE_SECONDS = 300.0


class Timeouts(Struct, frozen=True):
    """The timeouts of the steps of a request."""

    connect_seconds: float = CONNECT_SECONDS
    headers_seconds: float = HEADERS_SECONDS
    idle_seconds: float = IDLE_SECONDS


class HttpResponse:
    """A response: status, headers, and the body as it arrives."""

    def __init__(self, connection: HttpConnection, head: h11.Response, idle_seconds: float) -> None:
        self._connection = connection
        self._idle_seconds = idle_seconds
        self.status = head.status_code
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}
        self._decoder = self._find_decoder(self.headers.get("content-encoding", ""))

    @property
    def request_id(self) -> str | None:
        """The id that the endpoint gave to the request."""
        return self.headers.get("request-id")

    @property
    def is_json(self) -> bool:
        """Whether the body is declared as JSON."""
        return "json" in self.headers.get("content-type", "")

    async def next(self) -> bytes | None:
        """Return the next part of the body, decompressed; None at its end."""
        data = await self._connection.body(self._idle_seconds)
        if data is None or self._decoder is None:
            return data
        from bridle.agent.model.http.content_coding import decode

        return decode(self._decoder, data)

    async def read(self, limit_bytes: int) -> bytes:
        """Return the body up to the limit."""
        parts: list[bytes] = []
        size = 0
        while size < limit_bytes and (data := await self.next()) is not None:
            parts.append(data)
            size += len(data)
        return b"".join(parts)[:limit_bytes]

    @staticmethod
    def _find_decoder(coding: str) -> Decoder | None:
        if not coding:
            return None
        from bridle.agent.model.http.content_coding import decoder_for  # late: few servers compress

        return decoder_for(coding)


class HttpClient:
    """A client for one address; concurrent requests use separate connections."""

    def __init__(self, address: Address, environment: Mapping[str, str], limits: Timeouts | None = None) -> None:
        self._address = address
        self._environment = environment
        self._limits = limits or Timeouts()
        self._proxy = proxy_for(address, environment)
        self._tls: ssl.SSLContext | None = None
        self._idle: list[HttpConnection] = []

    @property
    def origin(self) -> str:
        """Scheme, host and port of the server."""
        return f"{'https' if self._address.is_secure else 'http'}://{self._address.netloc.lower()}"

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpExchange:
        """Return one request as a context manager, which reuses or closes the connection at its end."""
        target = path
        named = [("host", self._address.netloc), *headers.items(), ("content-length", str(len(body)))]
        if self._proxy is not None and not self._address.is_secure:
            target = f"http://{self._address.netloc}{path}"
            if self._proxy.authorization is not None:
                named.append(("proxy-authorization", self._proxy.authorization))
        try:
            request = h11.Request(method=method, target=target, headers=named)
        except (h11.LocalProtocolError, UnicodeEncodeError):
            # The library's message contains the header, which may be a key.
            remedy = "Check ANTHROPIC_API_KEY, _AUTH_TOKEN and _CUSTOM_HEADERS for line breaks and non-ASCII text."
            raise UsageError("a request header is invalid", remedy=remedy) from None
        return HttpExchange(self, request, body)

    def close(self) -> None:
        """Close all idle connections."""
        while self._idle:
            self._idle.pop().close()

    async def acquire(self) -> HttpConnection:
        """Return an idle connection, or a new one."""
        while self._idle:
            connection = self._idle.pop()
            if await connection.is_ready():
                return connection
            connection.close()
        return HttpConnection(await self._connect())

    def release(self, connection: HttpConnection) -> None:
        """Keep a connection for the next request."""
        self._idle.append(connection)

    @property
    def limits(self) -> Timeouts:
        return self._limits

    async def _connect(self) -> Connection:
        seconds = self._limits.connect_seconds
        if self._proxy is not None:
            return await self._through(self._proxy, seconds)
        tls = self._context if self._address.is_secure else None
        return await open_connection(self._address.host, self._address.port, limit_seconds=seconds, tls=tls)

    async def _through(self, proxy: Proxy, seconds: float) -> Connection:
        tls = self._context if proxy.address.is_secure else None
        connection = await open_connection(proxy.address.host, proxy.address.port, limit_seconds=seconds, tls=tls)
        if not self._address.is_secure:
            return connection
        try:
            await tunnel(connection, self._address, proxy.authorization, seconds)
            await connection.secure(self._context(), self._address.host, seconds)
        except OSError as error:
            connection.close()
            raise connection_error(error, self._address.authority) from error
        except BaseException:
            connection.close()
            raise
        return connection

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            from bridle.agent.model.http import tls_trust

            self._tls = tls_trust.tls_context(self._environment)
        return self._tls


class HttpExchange:
    """One request and its response."""

    def __init__(self, server: HttpClient, request: h11.Request, body: bytes) -> None:
        self._server = server
        self._request = request
        self._body = body
        self._connection: HttpConnection | None = None

    async def __aenter__(self) -> HttpResponse:
        try:
            return await self._begin()
        except BaseException:
            self._drop()
            raise

    async def __aexit__(self, *error: object) -> None:
        connection = self._connection
        if connection is None:
            return
        self._connection = None
        if error[0] is None and connection.can_be_kept:
            self._server.release(connection)
        else:
            connection.close()

    async def _begin(self) -> HttpResponse:
        while True:
            connection = self._connection = await self._server.acquire()
            was_used = connection.was_used
            try:
                head = await connection.send(self._request, self._body, self._server.limits.headers_seconds)
            except NetworkError as error:
                # The server may have closed an idle connection at this moment. No part of a response was received, so
                # the request is sent again on a new connection.
                if error.kind != "reset" or not was_used:
                    raise
                self._drop()
                continue
            return HttpResponse(connection, head, self._server.limits.idle_seconds)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
