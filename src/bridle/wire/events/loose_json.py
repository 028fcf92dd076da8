"""JSON as agents really print it: read what a strict decoder refuses, write what it would refuse to write."""

from __future__ import annotations

import json
from typing import Any

import msgspec

_strict = msgspec.json.Decoder()


def loads(text: str) -> Any:
    """Decode JSON that may hold lone surrogates, NaN or raw control characters.

    Raises ValueError or RecursionError for what is not JSON, is nested too deep, or holds an absurd integer.
    """
    return json.loads(text, strict=False)


def from_json(raw: msgspec.Raw | bytes) -> Any:
    """Decode a part of a line that was set aside; text that cannot be decoded comes back as text."""
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
    """Encode a decoded value, whatever a tolerant decoder let into it."""
    return msgspec.Raw(to_bytes(value))


def to_bytes(value: Any) -> bytes:
    """Encode a value as compact JSON: UTF-8 where it can be, escapes where it holds lone surrogates."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
