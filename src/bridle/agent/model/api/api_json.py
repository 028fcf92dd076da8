"""Decodes and encodes the JSON of the API, tolerant of what models and tools produce."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bridle.agent.model.api.stream_pieces import UNPARSED, JsonObject

_ESCAPED_SURROGATE = rb"\\u[dD][89a-fA-F]"


def decode_json(data: bytes) -> Any:
    """Decode JSON, lone surrogates as U+FFFD; raise ValueError if it is invalid."""
    try:
        return msgspec.json.decode(data)
    except RecursionError as error:
        raise ValueError(str(error)) from error
    except msgspec.DecodeError as error:
        return _without_surrogates(data, error)


def _without_surrogates(data: bytes, refused: msgspec.DecodeError) -> Any:
    """Decode JSON that was refused for half of a character: streams cut texts anywhere."""
    if not re.search(_ESCAPED_SURROGATE, data):
        raise ValueError(str(refused)) from refused
    from bridle.wire.events.loose_json import loads  # late: almost every stream does without it

    try:
        return loads(data.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise ValueError(str(refused)) from refused


def encode_json(value: Any) -> bytes:
    """Encode JSON in UTF-8; unpaired surrogates are replaced."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        import json

        # An unpaired surrogate in the output of a tool, or a number beyond 64 bits.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def parse_tool_input(raw: str) -> JsonObject:
    """Parse the input of a tool call; invalid input is returned under the key UNPARSED."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        value = _parse_leniently(raw)
    return value if isinstance(value, dict) else {UNPARSED: {"raw": raw, "len": len(raw)}}


def _parse_leniently(raw: str) -> Any:
    """Parse with the standard library, which accepts escaped unpaired surrogates."""
    import json

    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
