"""JSON as agents really print it: decode what a strict decoder rejects, and encode what came of it.

`json` is imported when it is needed: most logs are read without it.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

from bridle.wire.events.surrogates import replace_surrogates

JsonObject: TypeAlias = dict[str, Any]
"""A decoded JSON object of any shape, such as the input of a tool."""

_ESCAPED_SURROGATE = r"\\u[dD][89a-fA-F]"
_decode_strictly = msgspec.json.Decoder().decode


def loads(text: str) -> Any:
    """Decode JSON that may hold lone surrogates, NaN or raw control characters. Lone surrogates become U+FFFD.

    Raise ValueError or RecursionError for text that is not JSON, is nested too deep, or has an absurdly long integer.
    """
    import json

    value = json.loads(text, strict=False)
    return without_surrogates(value) if re.search(_ESCAPED_SURROGATE, text) else value


def without_surrogates(value: Any) -> Any:
    """Return a JSON value with U+FFFD for lone surrogates. Raise what `json` raises for a value that is not JSON."""
    import json

    return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


def decode_json(data: bytes) -> Any:
    """Decode JSON bytes: first strictly, which is faster, then as `loads` does. Raise what `loads` raises."""
    try:
        return _decode_strictly(data)
    except (ValueError, RecursionError):  # an error of msgspec's decoder is a ValueError
        return loads(data.decode("utf-8", "replace").strip())


def from_json(raw: msgspec.Raw | bytes) -> Any:
    """Decode a part of a line that was kept undecoded; return text that is not JSON as text."""
    data = bytes(raw)
    try:
        return decode_json(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


def type_of(value: Any) -> str:
    """Return the `type` of a decoded event or block, or an empty string."""
    match value:
        case {"type": str(kind)}:
            return kind
    return ""


def to_raw(value: Any) -> msgspec.Raw:
    """Encode a decoded value as raw JSON, lone surrogates and NaN included."""
    return msgspec.Raw(to_bytes(value))


def to_bytes(value: Any) -> bytes:
    """Encode a value as compact JSON: UTF-8, or escapes where it has lone surrogates."""
    import json

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
