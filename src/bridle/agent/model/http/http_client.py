"""HTTP/1.1 to one server, by asyncio and h11: one request at a time on a connection, which is kept for the next."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

import h11
from msgspec import Struct

from bridle.agent.model.http.address import Address
from bridle.agent.model.http.http_connection import HttpConnection
from bridle.agent.model.http.proxy import Proxy, proxy_for, tunnel
from bridle.agent.model.http.socket import Connection, connection_error, open_connection
from bridle.errors import NetworkError, UsageError

# A host that answers at all does so in a second; thirty are for a bad line, and then the next try begins.
CONNECT_SECONDS = 30.0
# What the endpoint's own clients wait for the first word; a large answer that is not streamed takes minutes.
HEADERS_SECONDS = 600.0
# A stream carries a ping every few seconds; a local server may read a long prompt in silence first.
IDLE_SECONDS = 300.0


class Timeouts(Struct, frozen=True):
    """How long each step of a request may take."""

    connect_seconds: float = CONNECT_SECONDS
    headers_seconds: float = HEADERS_SECONDS
    idle_seconds: float = IDLE_SECONDS


class HttpResponse:
    """The head of an answer, and its body as it comes."""

    def __init__(self, line: HttpConnection, head: h11.Response, idle_seconds: float) -> None:
        self._line = line
        self._idle_seconds = idle_seconds
        self.status = head.status_code
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in head.headers}

    async def next(self) -> bytes | None:
        """The next piece of the body; None at its end."""
        return await self._line.body(self._idle_seconds)

    async def read(self, limit_bytes: int) -> bytes:
        """The whole body; what is above the limit is left out."""
        parts: list[bytes] = []
        size = 0
        while size < limit_bytes and (data := await self.next()) is not None:
            parts.append(data)
            size += len(data)
        return b"".join(parts)[:limit_bytes]


class HttpClient:
    """Requests to one address. Only one at a time: a second waits for nobody, it gets a connection of its own."""

    def __init__(self, address: Address, environment: Mapping[str, str], limits: Timeouts | None = None) -> None:
        self._address = address
        self._environment = environment
        self._limits = limits or Timeouts()
        self._proxy = proxy_for(address, environment)
        self._tls: ssl.SSLContext | None = None
        self._kept: list[HttpConnection] = []

    def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> HttpExchange:
        """One request, as a context: the connection is kept or closed at its end, whatever happens inside."""
        target = path
        named = [("host", self._address.netloc), *headers.items(), ("content-length", str(len(body)))]
        if self._proxy is not None and not self._address.is_secure:
            target = f"http://{self._address.netloc}{path}"
            if self._proxy.authorization is not None:
                named.append(("proxy-authorization", self._proxy.authorization))
        try:
            request = h11.Request(method=method, target=target, headers=named)
        except (h11.LocalProtocolError, UnicodeEncodeError):
            # The library's message holds the header, and the header may be a key.
            remedy = "Look for line ends and unusual letters in ANTHROPIC_API_KEY, _AUTH_TOKEN and _CUSTOM_HEADERS."
            raise UsageError("a header of the request cannot be sent", remedy=remedy) from None
        return HttpExchange(self, request, body)

    def close(self) -> None:
        """Let go of every kept connection."""
        while self._kept:
            self._kept.pop().close()

    async def line(self) -> HttpConnection:
        """A connection that is free: a kept one, or a new one."""
        while self._kept:
            line = self._kept.pop()
            if await line.is_ready():
                return line
            line.close()
        return HttpConnection(await self._connect())

    def keep(self, line: HttpConnection) -> None:
        """Take back a connection whose answer has been read."""
        self._kept.append(line)

    @property
    def limits(self) -> Timeouts:
        """How long each step may take."""
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
    """One request and its answer."""

    def __init__(self, server: HttpClient, request: h11.Request, body: bytes) -> None:
        self._server = server
        self._request = request
        self._body = body
        self._line: HttpConnection | None = None

    async def __aenter__(self) -> HttpResponse:
        try:
            return await self._begin()
        except BaseException:
            self._drop()
            raise

    async def __aexit__(self, *trouble: object) -> None:
        line = self._line
        if line is None:
            return
        self._line = None
        if trouble[0] is None and line.can_be_kept:
            self._server.keep(line)
        else:
            line.close()

    async def _begin(self) -> HttpResponse:
        while True:
            line = self._line = await self._server.line()
            was_used = line.was_used
            try:
                head = await line.send(self._request, self._body, self._server.limits.headers_seconds)
            except NetworkError as error:
                # The server may have ended a kept connection at the moment we used it. Nothing of an answer came,
                # so the request is made again on a new one.
                if error.kind != "reset" or not was_used:
                    raise
                self._drop()
                continue
            return HttpResponse(line, head, self._server.limits.idle_seconds)

    def _drop(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
