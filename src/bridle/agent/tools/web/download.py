"""Fetching one page of the web: bounded in time, size and redirections.

Imported when a page is fetched: it brings the client of the model's endpoint along.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ssl import SSLContext
from urllib.parse import urljoin

import h11

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

# A page that is not here after a minute is not worth the turn's time.
WHOLE_SECONDS = 60.0
CONNECT_SECONDS = 15.0
# Pages are far below this; a larger one is a download.
BODY_LIMIT_BYTES = 10 * 1024 * 1024
# What browsers follow before they speak of a loop is twice this.
_REDIRECT_LIMIT = 10
_MOVED = frozenset({301, 302, 303, 307, 308})
_HEADERS = {"accept": "text/markdown, text/html, */*", "accept-encoding": "gzip", "user-agent": "bridle-agent"}


@dataclass(frozen=True)
class Page:
    """What came back."""

    status: int
    content_type: str
    """In small letters, with its parameters."""
    body: bytes
    moved_to: str | None = None
    """Where another host is named instead; nothing was fetched from there."""


async def fetch(url: str, environment: Mapping[str, str]) -> Page:
    """Fetch a page; NotFetched says why there is none."""
    place = parse_url(url)
    # The certificate that says who we are is for the model's endpoint alone.
    environment = {name: value for name, value in environment.items() if not name.startswith("CLAUDE_CODE_CLIENT_")}
    try:
        async with asyncio.timeout(WHOLE_SECONDS):
            for _ in range(_REDIRECT_LIMIT + 1):
                page = await _visit(place, environment)
                if page.moved_to is None:
                    return page
                there = parse_url(urljoin(place.url, page.moved_to))
                if not is_same_site(place, there):
                    return Page(page.status, page.content_type, b"", there.url)
                place = there
    except TimeoutError as error:
        raise FetchError(f"{place.host} did not answer within {WHOLE_SECONDS:g} seconds.") from error
    except (NetworkError, UsageError) as error:
        raise FetchError(error.message) from error
    raise FetchError(f"{url} leads through more than {_REDIRECT_LIMIT} redirections.")


async def _visit(place: WebAddress, environment: Mapping[str, str]) -> Page:
    async with _answer(place, environment) as response:
        content_type = response.headers.get("content-type", "").lower()
        location = response.headers.get("location")
        if response.status in _MOVED and location:
            return Page(response.status, content_type, b"", location)
        if not 200 <= response.status < 300:
            return Page(response.status, content_type, b"")
        body = await response.read(BODY_LIMIT_BYTES + 1)
        if len(body) > BODY_LIMIT_BYTES:
            raise FetchError(f"The page has more than {BODY_LIMIT_BYTES // 1024**2} MB. Download it with Bash instead.")
        return Page(response.status, content_type, _unpacked(body, response.headers.get("content-encoding", "")))


@asynccontextmanager
async def _answer(place: WebAddress, environment: Mapping[str, str]) -> AsyncIterator[HttpResponse]:
    """The head of the answer; the connection is closed at the end, whatever happens."""
    address = Address(place.scheme, place.host, place.port, "")
    if proxy_for(address, environment) is not None:
        require_public_name(place, environment)
        server = HttpClient(address, environment, Timeouts(CONNECT_SECONDS, WHOLE_SECONDS, WHOLE_SECONDS))
        try:
            async with server.request("GET", place.target, _HEADERS, b"") as response:
                yield response
        finally:
            server.close()
        return
    connection = await _connected(address, await public_addresses(place, environment), environment)
    try:
        line = HttpConnection(connection)
        request = h11.Request(method="GET", target=place.target, headers=[("host", address.netloc), *_HEADERS.items()])
        yield HttpResponse(line, await line.ask(request, b"", WHOLE_SECONDS), WHOLE_SECONDS)
    finally:
        connection.close()


async def _connected(address: Address, candidates: list[str], environment: Mapping[str, str]) -> Connection:
    """A connection to the first of the addresses that takes one; the name is still what the certificate must say."""
    trouble: NetworkError | None = None
    for candidate in candidates:
        try:
            connection = await open_connection(candidate, address.port, limit_seconds=CONNECT_SECONDS, tls=None)
        except NetworkError as error:
            trouble = error
            continue
        if address.is_secure:
            await _secured(connection, tls_trust.tls_context(environment), address.host)
        return connection
    raise FetchError(trouble.message if trouble else f"{address.host} has no address.")


async def _secured(connection: Connection, context: SSLContext, host: str) -> None:
    try:
        await connection.secure(context, host, CONNECT_SECONDS)
    except OSError as error:
        connection.close()
        raise connection_error(error, host) from error
    except BaseException:
        connection.close()
        raise


def _unpacked(body: bytes, encoding: str) -> bytes:
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise FetchError(f"The page is packed in a way that was not asked for: {encoding}")
    import zlib

    # 32 more than the largest window: the format (gzip or zlib) is seen from the first bytes.
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        text = unpacker.decompress(body, BODY_LIMIT_BYTES + 1)
    except zlib.error as error:
        raise FetchError(f"The page is damaged: {error}") from error
    if len(text) > BODY_LIMIT_BYTES:
        raise FetchError(f"The page has more than {BODY_LIMIT_BYTES // 1024**2} MB. Download it with Bash instead.")
    return text
