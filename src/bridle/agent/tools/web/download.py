"""Fetches one web page with limits on time, size and redirects.

Imported at the first fetch, because it imports the HTTP client.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ssl import SSLContext
from urllib.parse import urljoin

import h11
from msgspec import Struct

from bridle.agent.model.http import tls_trust
from bridle.agent.model.http.address import Address
from bridle.agent.model.http.http_client import HttpClient, HttpResponse, Timeouts
from bridle.agent.model.http.http_connection import HttpConnection
from bridle.agent.model.http.proxy import proxy_for
from bridle.agent.model.http.socket import Connection, connection_error, open_connection
from bridle.agent.tools.web.allowed_addresses import (
    FetchError,
    WebAddress,
    is_same_site,
    parse_url,
    public_addresses,
    require_public_name,
)
from bridle.errors import NetworkError, UsageError

# A page that takes longer is not worth the wait.
WHOLE_SECONDS = 60.0
CONNECT_SECONDS = 15.0
# Pages are far smaller; a larger body is a download.
BODY_LIMIT_BYTES = 10 * 1024 * 1024
# Browsers follow twice as many.
_REDIRECT_LIMIT = 10
_MOVED = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"accept": "text/markdown, text/html, */*", "accept-encoding": "gzip", "user-agent": "bridle-agent"}


class Page(Struct, frozen=True):
    """A fetched page."""

    status: int
    content_type: str
    """Lowercase, with its parameters."""
    body: bytes
    moved_to: str | None = None
    """The URL of a redirect to another host, which was not followed."""


async def fetch(url: str, environment: Mapping[str, str]) -> Page:
    """Fetch a page; raise FetchError if it fails."""
    address = parse_url(url)
    # The client certificate is only for the model's endpoint.
    environment = {name: value for name, value in environment.items() if not name.startswith("CLAUDE_CODE_CLIENT_")}
    try:
        async with asyncio.timeout(WHOLE_SECONDS):
            for _ in range(_REDIRECT_LIMIT + 1):
                page = await _request(address, environment)
                if page.moved_to is None:
                    return page
                target = parse_url(urljoin(address.url, page.moved_to))
                if not is_same_site(address, target):
                    return Page(page.status, page.content_type, b"", target.url)
                address = target
    except TimeoutError as error:
        raise FetchError(f"{address.host} did not answer within {WHOLE_SECONDS:g} seconds.") from error
    except (NetworkError, UsageError) as error:
        raise FetchError(error.message) from error
    raise FetchError(f"{url} redirects more than {_REDIRECT_LIMIT} times.")


async def _request(address: WebAddress, environment: Mapping[str, str]) -> Page:
    async with _response(address, environment) as response:
        content_type = response.headers.get("content-type", "").lower()
        location = response.headers.get("location")
        if response.status in _MOVED and location:
            return Page(response.status, content_type, b"", location)
        if not 200 <= response.status < 300:
            return Page(response.status, content_type, b"")
        body = await response.read(BODY_LIMIT_BYTES + 1)
        if len(body) > BODY_LIMIT_BYTES:
            raise FetchError(
                f"The page is larger than {BODY_LIMIT_BYTES // 1024**2} MB. Download it with Bash instead."
            )
        return Page(response.status, content_type, body)


@asynccontextmanager
async def _response(address: WebAddress, environment: Mapping[str, str]) -> AsyncIterator[HttpResponse]:
    """Yield the response; the connection is closed at the end."""
    server = Address(address.scheme, address.host, address.port, "")
    if proxy_for(server, environment) is not None:
        require_public_name(address, environment)
        client = HttpClient(server, environment, Timeouts(CONNECT_SECONDS, WHOLE_SECONDS, WHOLE_SECONDS))
        try:
            async with client.request("GET", address.target, _HEADERS, b"") as response:
                yield response
        finally:
            client.close()
        return
    connection = await _connect(server, await public_addresses(address, environment), environment)
    try:
        http = HttpConnection(connection)
        request = h11.Request(method="GET", target=address.target, headers=[("host", server.netloc), *_HEADERS.items()])
        yield HttpResponse(http, await http.send(request, b"", WHOLE_SECONDS), WHOLE_SECONDS)
    finally:
        connection.close()


async def _connect(server: Address, candidates: list[str], environment: Mapping[str, str]) -> Connection:
    """Connect to the first address that accepts; the certificate must still match the name."""
    failure: NetworkError | None = None
    for candidate in candidates:
        try:
            connection = await open_connection(candidate, server.port, limit_seconds=CONNECT_SECONDS, tls=None)
        except NetworkError as error:
            failure = error
            continue
        if server.is_secure:
            await _start_tls(connection, tls_trust.tls_context(environment), server.host)
        return connection
    raise FetchError(failure.message if failure else f"{server.host} has no address.")


async def _start_tls(connection: Connection, context: SSLContext, host: str) -> None:
    try:
        await connection.secure(context, host, CONNECT_SECONDS)
    except OSError as error:
        connection.close()
        raise connection_error(error, host) from error
    except BaseException:
        connection.close()
        raise
