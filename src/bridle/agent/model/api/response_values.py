"""JSON to and from the endpoint: strict where it must be, patient where a model or a tool made the text."""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.agent.model.api.stream_pieces import UNPARSED


def decode_json(data: bytes) -> Any:
    """JSON; ValueError if it is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def encode_json(value: Any) -> bytes:
    """JSON in UTF-8, whatever text is in it."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        import json

        # Half a character, from a tool whose output was no text, or a number beyond 64 bits.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def parse_tool_input(raw: str) -> dict[str, Any]:
    """The input of a tool call; what is no JSON object is kept as it stands under one key."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        value = _again(raw)
    return value if isinstance(value, dict) else {UNPARSED: {"raw": raw, "len": len(raw)}}


def _again(raw: str) -> Any:
    """The standard library reads what is JSON by the letter: a half character, written as an escape."""
    import json

    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
