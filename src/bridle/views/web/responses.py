"""Answers of the server as JSON, and the numbers in its addresses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.errors import Error
from bridle.views.web.guard import Refused
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.events.surrogates import replace_all_surrogates
from bridle.wire.mask import Mask

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

# Of a window that names no size.
COUNT = 100
_DIGITS = 12
Answer = Callable[["Request"], Awaitable[JsonObject | None]]


def as_json(answer: Answer, mask: Mask) -> Callable[[Request], Awaitable[Response]]:
    """Return a function that answers with a document; with 404 without a document."""

    async def respond(request: Request) -> Response:
        try:
            document = await answer(request)
        except (Error, OSError) as error:
            message = error.message if isinstance(error, Error) else str(error)
            remedy = (error.remedy if isinstance(error, Error) else None) or ""
            failure = {"ok": False, "error": "unreadable", "message": message, "remedy": remedy}
            return json_response(mask.apply_to_json(failure), 500)
        if document is None:
            return json_response({"ok": False, "error": "not found", "message": "there is no such thing"}, 404)
        return json_response(document)

    return respond


def json_response(document: Any, status: int = 200) -> Response:
    """Return a document as an answer."""
    from starlette.responses import Response

    return Response(encode(document), status, media_type="application/json")


def encode(document: Any) -> bytes:
    """Return a document as JSON; names of files and texts of agents that are not UTF-8 are made so."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(replace_all_surrogates(document))


async def not_found(_: Request, error: Exception) -> Response:
    """Answer for an address that is not known."""
    status = getattr(error, "status_code", 404)
    return json_response({"ok": False, "error": "not found", "message": "there is no such address"}, status)


async def refused(_: Request, error: Exception) -> Response:
    """Answer for a request that is refused."""
    assert isinstance(error, Refused)  # noqa: S101  # registered for it alone
    return json_response(error.document, error.status)


def path_number(request: Request, name: str) -> int:
    """Return a number of the address; raise Refused for anything else: there is no such thing."""
    text: str = request.path_params[name]
    if not text.isdecimal() or len(text) > _DIGITS:
        raise Refused(404, "not found", "there is no such thing")
    return int(text)


def number(request: Request, name: str, default: int) -> int:
    """Return a number of the query; raise Refused for anything else."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not text.removeprefix("-").isdecimal() or len(text) > _DIGITS:
        raise Refused(400, "bad number", f"{name} must be an integer")
    return int(text)
