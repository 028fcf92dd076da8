"""One request to an endpoint of the Messages API over HTTP: frames, a whole message, or an error."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from msgspec import Struct

from bridle.agent.model.api import request_body, sse
from bridle.agent.model.api.api_json import decode_json, encode_json
from bridle.agent.model.api.credentials import CredentialSource
from bridle.agent.model.api.models import Model, is_on
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.read_response import read_document, read_error
from bridle.agent.model.api.request_errors import RequestError, endpoint_error, from_network, from_status
from bridle.agent.model.api.stream_pieces import JsonObject
from bridle.agent.model.http.address import Address, parse_address
from bridle.agent.model.http.http_client import (
    HEADERS_SECONDS,
    IDLE_SECONDS,
    HttpClient,
    HttpResponse,
    Timeouts,
)
from bridle.agent.model.http.redirect import MAX_REDIRECTS, Target, headers_for, redirected
from bridle.errors import NetworkError, UsageError

DEFAULT_URL = "https://api.anthropic.com"
PATH = "/v1/messages?beta=true"
# The clouds by the variables that select them.
CLOUDS = {"bedrock": "CLAUDE_CODE_USE_BEDROCK", "vertex": "CLAUDE_CODE_USE_VERTEX"}


def selected_cloud(environment: Mapping[str, str]) -> str | None:
    """Return the cloud that the environment selects, or None."""
    return next((cloud for cloud, name in CLOUDS.items() if is_on(environment, name)), None)


class StreamOpened(Struct, frozen=True):
    """The endpoint has started to answer."""

    request_id: str | None


class WholeMessage(Struct, frozen=True):
    """A complete answer in one document."""

    message: JsonObject
    request_id: str | None


class Endpoint(Protocol):
    """An endpoint of the Messages API; raises EndpointError with a RequestError if a request fails."""

    @property
    def where(self) -> str:
        """Host and port, for error messages."""

    @property
    def has_key(self) -> bool:
        """Whether requests use an API key rather than a login token."""

    def stream(
        self, question: Question, model: Model, max_tokens: int | None
    ) -> AsyncGenerator[StreamOpened | WholeMessage | JsonObject, None]:
        """Request a stream: StreamOpened, then frames; or a WholeMessage from a server that does not stream."""

    async def whole(self, question: Question, model: Model, max_tokens: int | None) -> WholeMessage:
        """Request the answer in one document."""

    async def refuse_credential(self) -> None:
        """Replace a rejected credential if possible."""

    async def close(self) -> None:
        """Close all connections."""


class HttpEndpoint:
    """An endpoint that is reached over HTTP."""

    def __init__(self, credentials: CredentialSource, environment: Mapping[str, str]) -> None:
        self._credentials = credentials
        self._environment = environment
        self._address = _address(environment)
        self._server = HttpClient(self._address, environment, timeouts_from_environment(environment))
        self._others: dict[str, HttpClient] = {}
        """The servers that the endpoint redirects to, by their origin."""

    @property
    def where(self) -> str:
        """Host and port."""
        return self._address.netloc

    @property
    def has_key(self) -> bool:
        """Whether requests use an API key."""
        return self._credentials.has_key

    async def stream(
        self, question: Question, model: Model, max_tokens: int | None
    ) -> AsyncGenerator[StreamOpened | WholeMessage | JsonObject, None]:
        try:
            async with self._responding(question, model, max_tokens, stream=True) as response:
                await _check(response)
                if response.is_json:
                    yield await _document(response)
                    return
                yield StreamOpened(response.request_id)
                reader = sse.Reader()
                while (chunk := await response.next()) is not None:
                    for data in reader.feed(chunk):
                        frame = _frame(data)
                        yield frame
                        if frame.get("type") == "message_stop":
                            return  # without waiting for the end of the body: the connection is reused
                for data in reader.finish():
                    yield _frame(data)
        except NetworkError as error:
            raise endpoint_error(from_network(error)) from error

    async def whole(self, question: Question, model: Model, max_tokens: int | None) -> WholeMessage:
        """Request the answer in one document."""
        try:
            async with self._responding(question, model, max_tokens, stream=False) as response:
                await _check(response)
                return await _document(response)
        except NetworkError as error:
            raise endpoint_error(from_network(error)) from error

    async def refuse_credential(self) -> None:
        """Get another key from the helper."""
        await self._credentials.refuse()

    async def close(self) -> None:
        for server in (self._server, *self._others.values()):
            server.close()

    @asynccontextmanager
    async def _responding(
        self, question: Question, model: Model, max_tokens: int | None, *, stream: bool
    ) -> AsyncGenerator[HttpResponse, None]:
        """Send a request and yield the response, after the redirects of a gateway."""
        server, path = self._server, self._address.path + PATH
        headers, body = await self._request(question, model, max_tokens, stream=stream)
        for _ in range(MAX_REDIRECTS + 1):
            async with server.request("POST", path, headers, body) as response:
                at = Target(server.origin, path)
                target = redirected(response.status, response.headers, at)
                if target is None:
                    yield response
                    return
            headers = headers_for(target, self._server.origin, headers)
            server, path = self._server_at(target), target.path
        message = f"the endpoint redirects more than {MAX_REDIRECTS} times"
        raise endpoint_error(RequestError("redirect", message))

    def _server_at(self, target: Target) -> HttpClient:
        if target.origin == self._server.origin:
            return self._server
        if target.origin not in self._others:
            limits = timeouts_from_environment(self._environment)
            self._others[target.origin] = HttpClient(parse_address(target.origin), self._environment, limits)
        return self._others[target.origin]

    async def _request(
        self, question: Question, model: Model, max_tokens: int | None, *, stream: bool
    ) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of a request."""
        credential = await self._credentials.current()
        names = request_body.beta_names(question, model, credential.betas, self._environment)
        headers = request_body.build_headers(names, credential.headers, question.session_id, self._environment)
        body = request_body.build_body(question, model, self._environment, stream=stream, max_tokens=max_tokens)
        return headers, encode_json(body)


async def _check(response: HttpResponse) -> None:
    """Raise EndpointError unless the status is 200."""
    if response.status == 200:
        return
    text = await read_error(response)
    try:
        document = decode_json(text.encode())
    except ValueError:
        document = None
    raise endpoint_error(from_status(response.status, response.headers, document, text, now=time.time()))


def _frame(data: bytes) -> JsonObject:
    try:
        frame = decode_json(data)
    except ValueError as error:
        raise endpoint_error(RequestError("not_json", f"a frame of the stream is not JSON: {error}")) from error
    if not isinstance(frame, dict):
        raise endpoint_error(RequestError("not_json", "a frame of the stream is not an object"))
    return frame


async def _document(response: HttpResponse) -> WholeMessage:
    """Read a message in one document."""
    request_id = response.request_id
    message, _ = await read_document(response, request_id)
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        raise endpoint_error(RequestError("garbled", "the answer is not a message", request_id=request_id))
    return WholeMessage(message, request_id)


def _address(environment: Mapping[str, str]) -> Address:
    url = environment.get("ANTHROPIC_BASE_URL", "").strip() or DEFAULT_URL
    try:
        return parse_address(url)
    except UsageError as error:
        raise UsageError(
            f"ANTHROPIC_BASE_URL is invalid: {error.message}", remedy="Correct the variable, or unset it."
        ) from error


def timeouts_from_environment(environment: Mapping[str, str]) -> Timeouts:
    """Return the timeouts of a request from the environment."""
    whole = _seconds("API_TIMEOUT_MS", environment)
    # A server that is slow to start an answer is also slow between its frames.
    idle = _seconds("CLAUDE_STREAM_IDLE_TIMEOUT_MS", environment) or max(IDLE_SECONDS, whole or 0.0)
    return Timeouts(headers_seconds=whole or HEADERS_SECONDS, idle_seconds=idle)


def _seconds(name: str, environment: Mapping[str, str]) -> float | None:
    text = environment.get(name, "").strip()
    return int(text) / 1000 if text.isascii() and text.isdigit() and int(text) else None
