"""Errors in the form and wording of the Messages API."""

from __future__ import annotations

from msgspec import Struct

_TYPES = {
    400: ("invalid_request_error", "The request was not well formed"),
    401: ("authentication_error", "invalid x-api-key"),
    402: ("billing_error", "Your account has a billing problem"),
    403: ("permission_error", "Your API key may not use this resource"),
    404: ("not_found_error", "Not found"),
    408: ("timeout_error", "The request took too long"),
    413: ("request_too_large", "Request exceeds the maximum size"),
    429: ("rate_limit_error", "This request would exceed a rate limit"),
    500: ("api_error", "Internal server error"),
    504: ("timeout_error", "The request timed out"),
    529: ("overloaded_error", "Overloaded"),
}


class Refusal(Struct, frozen=True):
    """An error response: status, type and message."""

    status: int
    type: str
    message: str

    def document(self, request_id: str) -> dict[str, object]:
        """Return the error's JSON document."""
        error = {"type": self.type, "message": self.message}
        return {"type": "error", "error": error, "request_id": request_id}


def refusal(status: int, *, kind: str | None = None, message: str | None = None) -> Refusal:
    """Return the error for a status, by default with the API's type and message."""
    default = _TYPES[400] if status < 500 else _TYPES[500]
    usual_kind, usual_message = _TYPES.get(status, default)
    return Refusal(status, kind or usual_kind, message or usual_message)


def bad_request(message: str) -> Refusal:
    """Return the error for a request that is not well formed."""
    return refusal(400, message=message)
