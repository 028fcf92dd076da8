"""What the two HTTP transports share: the address of a server, its client, and errors."""

from __future__ import annotations

from collections.abc import Mapping

from bridle.agent.mcp.transports.transport import MESSAGE_LIMIT_BYTES
from bridle.agent.model.http.address import parse_address
from bridle.agent.model.http.http_client import HttpClient, HttpResponse, Timeouts
from bridle.agent.model.http.redirect import MAX_REDIRECTS, Target, headers_for, redirected
from bridle.errors import Error, NetworkError, ServerFailure, UsageError

# A call may take hours; its own timeout ends it.
QUIET_SECONDS = 24 * 3600.0
CONNECT_SECONDS = 30.0
LIMITS = Timeouts(CONNECT_SECONDS, QUIET_SECONDS, QUIET_SECONDS)
EVENTS = "text/event-stream"
# A server gets these back wherever it redirects to: it gave the first itself, and the second says nothing.
SESSION_HEADERS = ("mcp-session-id", "mcp-protocol-version")
# What is shown of the body of an error.
ERROR_BYTES = 300


class RemoteServer:
    """A server at a URL, with the headers that every request has."""

    def __init__(self, url: str, headers: Mapping[str, str], environment: Mapping[str, str], agent: str) -> None:
        """`agent` is the User-Agent. Raises ServerFailure if the URL is invalid."""
        try:
            address = parse_address(url)
            self.client = HttpClient(address, environment, LIMITS)
        except UsageError as error:
            raise ServerFailure(error.message) from error
        self._environment = environment
        self._clients = {self.client.origin: self.client}
        self.headers = {"user-agent": agent, **{name.lower(): value for name, value in headers.items()}}
        self.target = target_of(url)

    async def post(
        self, body: bytes, headers: Mapping[str, str], target: str | None = None
    ) -> tuple[HttpResponse, object]:
        """Send a message; return the response and the exchange, which the caller ends with `finish`."""
        sent = {**self.headers, "content-type": "application/json", **headers}
        return await self._begin("POST", target or self.target, sent, body)

    async def get(self, headers: Mapping[str, str]) -> tuple[HttpResponse, object]:
        """Open a stream of events."""
        return await self._begin("GET", self.target, {**self.headers, "accept": EVENTS, **headers}, b"")

    async def delete(self, headers: Mapping[str, str]) -> None:
        """End the session at the server."""
        _, exchange = await self._begin("DELETE", self.target, {**self.headers, **headers}, b"")
        await finish(exchange)

    async def _begin(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[HttpResponse, object]:
        try:
            return await self._follow(method, target, headers, body)
        except NetworkError as error:
            raise ServerFailure(error.message) from error
        except UsageError as error:
            message = (
                "a header of the configuration is not valid in HTTP" if "header" in error.message else error.message
            )
            raise ServerFailure(message) from error

    async def _follow(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[HttpResponse, object]:
        """Send a request; where the server redirects it, send it there. Another host gets no configured headers."""
        own = {name: headers[name] for name in SESSION_HEADERS if name in headers}
        client = self.client
        for _ in range(MAX_REDIRECTS + 1):
            exchange = client.request(method, path, headers, body)
            response = await exchange.__aenter__()
            target = redirected(response.status, response.headers, Target(client.origin, path))
            if target is None:
                return response, exchange
            await finish(exchange)
            headers = {**headers_for(target, self.client.origin, headers), **own}
            client, path = self._client_at(target), target.path
        raise ServerFailure(f"the server redirects more than {MAX_REDIRECTS} times")

    def _client_at(self, target: Target) -> HttpClient:
        if target.origin not in self._clients:
            self._clients[target.origin] = HttpClient(parse_address(target.origin), self._environment, LIMITS)
        return self._clients[target.origin]

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()


async def finish(exchange: object) -> None:
    """End an exchange: its connection is kept if the response is complete."""
    await exchange.__aexit__(None, None, None)  # type: ignore[attr-defined]  # an HttpExchange


async def read_body(response: HttpResponse) -> bytes:
    """Return the body of a response. Raises ServerFailure if it is cut or too large."""
    try:
        body = await response.read(MESSAGE_LIMIT_BYTES + 1)
    except Error as error:
        raise ServerFailure(error.message) from error
    if len(body) > MESSAGE_LIMIT_BYTES:
        raise ServerFailure("the response is too large")
    return body


async def refuse(response: HttpResponse) -> ServerFailure:
    """Return the error for a response that is not a success."""
    if response.status in (401, 403):
        return ServerFailure(f"the server requires authorization (HTTP {response.status})", needs_login=True)
    body = (await read_body(response))[:ERROR_BYTES].decode("utf-8", "replace").strip()
    return ServerFailure(f"HTTP {response.status}" + (f": {body}" if body else ""))


def target_of(url: str) -> str:
    """Return path and query of a URL."""
    rest = url.strip().partition("://")[2].partition("#")[0]
    place = min((rest.find(sign) for sign in "/?" if sign in rest), default=len(rest))
    path = rest[place:]
    return path if path.startswith("/") else f"/{path}"
