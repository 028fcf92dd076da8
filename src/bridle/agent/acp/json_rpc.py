"""Messages of JSON-RPC 2.0, one on each line. Pure."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from bridle.wire.events.loose_json import JsonObject, to_bytes

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
# Of the Agent Client Protocol.
AUTHENTICATION_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002

Id: TypeAlias = str | int | float | None


class RpcError(Exception):
    """An error that the other side gets as the response to its request, or that it sent as one."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data

    def document(self) -> JsonObject:
        """Return the `error` of a response."""
        more = {} if self.data is None else {"data": self.data}
        return {"code": self.code, "message": self.message, **more}


class Call(msgspec.Struct, frozen=True):
    """A request, or without an id a notification."""

    method: str
    params: JsonObject
    id: Id = None
    is_request: bool = False


class Answer(msgspec.Struct, frozen=True):
    """A response to a request of ours."""

    id: Id
    result: Any = None
    error: RpcError | None = None


class Invalid(msgspec.Struct, frozen=True):
    """A line that is not a message; the sender gets the error."""

    error: RpcError
    id: Id = None


def read_message(line: bytes) -> Call | Answer | Invalid:
    """Decode a line."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return Invalid(RpcError(PARSE_ERROR, f"Parse error: {error}"))
    if not isinstance(value, dict):
        return Invalid(RpcError(INVALID_REQUEST, "Invalid request: a message must be an object"))
    given = value.get("id")
    message_id = given if isinstance(given, str | int | float) and not isinstance(given, bool) else None
    method, params = value.get("method"), value.get("params")
    if isinstance(method, str):
        if params is not None and not isinstance(params, dict):
            return Invalid(RpcError(INVALID_PARAMS, "Invalid params: params must be an object"), message_id)
        return Call(method, params or {}, message_id, is_request="id" in value)
    if "result" in value or "error" in value:
        return Answer(message_id, value.get("result"), _error(value.get("error")))
    return Invalid(RpcError(INVALID_REQUEST, "Invalid request: neither a method nor a result"), message_id)


def request_line(message_id: int, method: str, params: JsonObject) -> bytes:
    return _line({"id": message_id, "method": method, "params": params})


def notification_line(method: str, params: JsonObject) -> bytes:
    return _line({"method": method, "params": params})


def result_line(message_id: Id, result: Any) -> bytes:
    return _line({"id": message_id, "result": result})


def error_line(message_id: Id, error: RpcError) -> bytes:
    return _line({"id": message_id, "error": error.document()})


def _line(message: JsonObject) -> bytes:
    return to_bytes({"jsonrpc": "2.0", **message}) + b"\n"


def _error(error: Any) -> RpcError | None:
    match error:
        case None:
            return None
        case {"code": int(code), "message": str(message)}:
            return RpcError(code, message, error.get("data"))
    return RpcError(INTERNAL_ERROR, "the error has no code and message")
