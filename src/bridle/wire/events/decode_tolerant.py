"""The tolerant path: an event from a line that a strict decoder refuses.

Each field and each block is taken on its own, so that a wrong one costs only itself: it gets its default,
and the event still holds the bytes of the whole line.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from bridle.wire.events import blocks, events, system
from bridle.wire.events.loose_json import loads, to_raw

_REASON_LIMIT = 200  # characters of a decoder's complaint that are kept
# Two objects come on one line when a newline was lost between them. Thousands are no stream of events, and each
# would cost a hundred times the memory of its two bytes.
GLUED_LIMIT = 1000
_scan = json.JSONDecoder(strict=False).raw_decode
_blanks = re.compile(r"\s*").match
_StructT = TypeVar("_StructT", bound=msgspec.Struct)

_KINDS: dict[str, type[events.Event]] = {kind.__struct_config__.tag: kind for kind in get_args(events.Plain)}


def decode_tolerantly(line: bytes) -> list[events.Event]:
    """Decode one line, whatever is in it."""
    text = line.decode("utf-8", "replace").strip()
    if not text:
        return []
    try:
        return [event_from_value(loads(text), line)]
    except (ValueError, RecursionError) as refusal:
        return _unglue(line) or [_malformed(line, refusal)]


def event_from_value(value: Any, raw: bytes) -> events.Event:
    """The event for a decoded JSON value and the bytes it came from."""
    if not isinstance(value, dict):
        return events.Ignored(raw=raw, text=raw.decode("utf-8", "replace"))
    kind = value.get("type")
    if kind == "system":
        return _system(value, raw)
    if isinstance(kind, str) and kind in _KINDS:
        return _put_raw(read_struct(_KINDS[kind], value), raw)
    return events.Unknown(raw=raw, kind=kind if isinstance(kind, str) else "", value=value)


def read_struct(kind: type[_StructT], value: dict[str, Any]) -> _StructT:
    """Build a value of this kind from what fits; what does not fit keeps its default."""
    fields: dict[str, Any] = {}
    for name, sent_as, wanted in _fields(kind):
        if sent_as in value:
            taken = _take_field(wanted, value[sent_as])
            if taken is not msgspec.UNSET:
                fields[name] = taken
    return kind(**fields)


def decode_blocks(content: list[Any]) -> tuple[blocks.AnyBlock, ...]:
    """Decode each block of a message on its own."""
    return tuple(_block(item) for item in content)


def token_count(value: Any) -> int:
    """A number of tokens from whatever stands in its place; nothing usable counts as 0."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _unglue(line: bytes) -> list[events.Event]:
    """Several objects on one line, one event each; what follows the last whole one is malformed.

    A line of words may begin with a number or a name in quotes: only an object at its beginning makes it one of these.
    Bytes that are not UTF-8 travel as surrogates here, so that each piece gives back its exact bytes.
    """
    text = line.decode("utf-8", "surrogateescape")
    found: list[events.Event] = []
    position = _after_blanks(text, 0)
    refusal: Exception = ValueError("an object, and then something else or too much")
    while position < len(text) and text[position] == "{" and len(found) < GLUED_LIMIT:
        try:
            _, end = _scan(text, position)
        except (ValueError, RecursionError) as problem:
            refusal = problem
            break
        if not found and _after_blanks(text, end) == len(text):
            return []
        found.extend(decode_tolerantly(_piece(text, position, end)))
        position = _after_blanks(text, end)
    if found and position < len(text):
        found.append(_malformed(_piece(text, position, len(text)), refusal))
    return found


def _after_blanks(text: str, position: int) -> int:
    found = _blanks(text, position)
    return found.end() if found else position


def _piece(text: str, start: int, end: int) -> bytes:
    return text[start:end].encode("utf-8", "surrogateescape")


def _malformed(line: bytes, refusal: Exception) -> events.Malformed:
    reason = "nested too deep" if isinstance(refusal, RecursionError) else str(refusal)
    return events.Malformed(raw=line, reason=reason[:_REASON_LIMIT], text=line.decode("utf-8", "replace"))


def _system(value: dict[str, Any], raw: bytes) -> events.Event:
    subtype = value.get("subtype")
    if isinstance(subtype, str) and subtype in system.SYSTEM_KINDS:
        return _put_raw(read_struct(system.SYSTEM_KINDS[subtype], value), raw)
    return system.System(raw=raw, subtype=subtype if isinstance(subtype, str) else "", value=value)


def _put_raw(event: events.Event, raw: bytes) -> events.Event:
    msgspec.structs.force_setattr(event, "raw", raw)
    return event


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    return [(field.name, field.encode_name, hints[field.name]) for field in fields if field.name != "raw"]


def _take_field(wanted: Any, value: Any) -> Any:
    if wanted is msgspec.Raw:
        return to_raw(value)
    if wanted is events.Message:
        return _message(value)
    if wanted == events.Usage | None:
        return _usage(value)
    try:
        return msgspec.convert(value, wanted)
    except (msgspec.ValidationError, RecursionError):
        return msgspec.UNSET


def _message(value: Any) -> Any:
    if not isinstance(value, dict):
        return msgspec.UNSET
    content = value.get("content")
    message = read_struct(events.Message, {name: item for name, item in value.items() if name != "content"})
    if isinstance(content, list):
        return msgspec.structs.replace(message, content=decode_blocks(content))
    return msgspec.structs.replace(message, content=content) if isinstance(content, str) else message


def _usage(value: Any) -> Any:
    if not isinstance(value, dict):
        return msgspec.UNSET
    counted = {
        name: token_count(item) if name.endswith("_tokens") else item
        for name, item in value.items()
        if not (name.endswith("_tokens") and item is None)
    }
    return read_struct(events.Usage, counted)


def _block(item: Any) -> blocks.AnyBlock:
    kind = item.get("type") if isinstance(item, dict) else None
    known = blocks.KNOWN_BLOCKS.get(kind) if isinstance(kind, str) else None
    if known is None:
        return blocks.UnknownBlock(value=item)
    return read_struct(known, item)
