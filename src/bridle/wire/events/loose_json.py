"""JSON as agents really print it: decode what a strict decoder rejects, and encode what came of it."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import msgspec

JsonObject: TypeAlias = dict[str, Any]
"""A decoded JSON object of any shape, such as the input of a tool."""

_strict = msgspec.json.Decoder()


def loads(text: str) -> Any:
    """Decode JSON that may hold lone surrogates, NaN or raw control characters.

    Raise ValueError or RecursionError for text that is not JSON, is nested too deep, or has an absurdly long integer.
    """
    return json.loads(text, strict=False)


def from_json(raw: msgspec.Raw | bytes) -> Any:
    """Decode a part of a line that was kept undecoded; return text that is not JSON as text."""
    data = bytes(raw)
    try:
        return _strict.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        text = data.decode("utf-8", "replace")
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


def to_raw(value: Any) -> msgspec.Raw:
    """Encode a decoded value as raw JSON, lone surrogates and NaN included."""
    return msgspec.Raw(to_bytes(value))


def to_bytes(value: Any) -> bytes:
    """Encode a value as compact JSON: UTF-8, or escapes where it has lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
