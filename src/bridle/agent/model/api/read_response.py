"""Reads responses that are not streamed: the text of an error, and an answer in one document."""

from __future__ import annotations

from typing import Any

from bridle.agent.model.api.api_json import decode_json
from bridle.agent.model.api.request_errors import RequestError, endpoint_error
from bridle.agent.model.http.http_client import HttpResponse
from bridle.errors import NetworkError

# An error document has a few hundred bytes; the error page of a proxy may be larger and is not needed completely.
ERROR_LIMIT_BYTES = 256 * 1024
# An answer of 128,000 tokens has about half a megabyte.
ANSWER_LIMIT_BYTES = 64 * 1024 * 1024


async def read_error(response: HttpResponse) -> str:
    """Return the text of an error; empty if it cannot be read, since the status is enough."""
    try:
        return (await response.read(ERROR_LIMIT_BYTES)).decode("utf-8", "replace")
    except NetworkError:
        return ""


async def read_document(response: HttpResponse, request_id: str | None) -> tuple[Any, bytes]:
    """Return an answer, decoded and as it was sent. Raises EndpointError if it is not JSON."""
    data = await response.read(ANSWER_LIMIT_BYTES)
    try:
        return decode_json(data), data
    except ValueError as error:
        kind = "not_json" if data and response.is_json else "garbled"
        raise endpoint_error(RequestError(kind, f"the answer is not JSON: {error}", request_id=request_id)) from error
