"""Events to bytes: one line for each, with fields in the order that agents use.

`decode(encode(event))` returns the same event, with two exceptions: a Skipped line, whose bytes were not kept, becomes
an empty one; and surrogates become the character that a pair encodes, or U+FFFD.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from bridle.wire.events.blocks import Block, UnknownBlock
from bridle.wire.events.events import ABSENT, Event, Ignored, Malformed, Message, Skipped, Unknown, Usage
from bridle.wire.events.loose_json import from_json, to_bytes
from bridle.wire.events.system import System

# Counts that only some agents have: a 0 is left out.
_OPTIONAL_COUNTS = frozenset({"cached_input_tokens", "reasoning_output_tokens"})


def encode(event: Event) -> bytes:
    """Encode an event as one line, with its newline."""
    return _line(event) + b"\n"


def _line(event: Event) -> bytes:
    match event:
        case Malformed() | Ignored():
            return event.raw.replace(b"\n", b" ")
        case Skipped():
            return b""
        case Unknown():
            return to_bytes(event.value)
        case System():
            return to_bytes(event.value or {"type": "system", "subtype": event.subtype})
        case _:
            return _tag(event, event.always)


def _tag(value: Event | Block, always: frozenset[str]) -> bytes:
    kind = to_bytes(value.__struct_config__.tag)
    return b'{"type":' + kind + b"".join(b"," + pair for pair in _pairs(value, always)) + b"}"


def _pairs(value: msgspec.Struct, always: frozenset[str]) -> list[bytes]:
    pairs = []
    for name, key in _keys(type(value)):
        item = getattr(value, name)
        if item is not None and item is not ABSENT:
            pairs.append(key + _value(item))
        elif name in always:
            pairs.append(key + b"null")
    return pairs


@cache
def _keys(kind: type[msgspec.Struct]) -> list[tuple[str, bytes]]:
    fields = [field for field in msgspec.structs.fields(kind) if field.name != "raw"]
    return [(field.name, to_bytes(field.encode_name) + b":") for field in fields]


def _value(item: Any) -> bytes:
    match item:
        case msgspec.Raw():
            # Return the bytes as they are, re-encoded only if they contain newlines, which would end the line.
            data = bytes(item)
            return to_bytes(from_json(item)) if b"\n" in data else data
        case Message():
            return b"{" + b",".join(_pairs(item, Message.always)) + b"}"
        case Usage():
            return b"{" + b",".join(_usage_pairs(item)) + b"}"
        case UnknownBlock():
            return to_bytes(item.value)
        case Block():
            return _tag(item, item.always)
        case tuple():
            return b"[" + b",".join(map(_value, item)) + b"]"
        case _:
            return to_bytes(item)


def _usage_pairs(usage: Usage) -> list[bytes]:
    pairs = []
    for name, key in _keys(Usage):
        item = getattr(usage, name)
        if item is not None and (item != 0 or name not in _OPTIONAL_COUNTS):
            pairs.append(key + to_bytes(item))
    return pairs
