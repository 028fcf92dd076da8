"""The tolerant decoder: an event from a line that a strict decoder rejects, a struct from any JSON object.

Each field and each block is decoded by itself: a wrong one gets its default, and the event still has the bytes of
the whole line.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from bridle.wire.events import blocks, events, system
from bridle.wire.events.loose_json import JsonObject, decode_json, from_json, to_raw, type_of
from bridle.wire.events.short_lines import decode_short

_REASON_LIMIT = 200  # characters of a decoder's error message that are kept
# Two objects share a line when the newline between them was lost. A line of thousands is not a stream of events, and
# each event would take a hundred times the memory of its two bytes.
GLUED_LIMIT = 1000
_blanks = re.compile(r"\s*").match
# ValueError: a key with a lone surrogate, which msgspec cannot encode to compare it.
_CONVERT_ERRORS = (msgspec.ValidationError, ValueError, RecursionError)
_StructT = TypeVar("_StructT", bound=msgspec.Struct)

_KINDS: dict[str, type[events.Event]] = {kind.__struct_config__.tag: kind for kind in get_args(events.Plain)}

_CALL_IDS: dict[type[blocks.KnownBlock], str] = {blocks.ToolUse: "id", blocks.ToolResult: "tool_use_id"}


def decode_tolerantly(line: bytes) -> list[events.Event]:
    """Decode one line, whatever its content."""
    known = decode_short(line)
    if known is not None:
        return known
    try:
        return [event_from_value(decode_json(line), line)]
    except (ValueError, RecursionError) as error:
        if not line.decode("utf-8", "replace").strip():
            return []
        return _split_objects(line) or [_malformed(line, error)]


def event_from_value(value: Any, raw: bytes) -> events.Event:
    """Return the event of a decoded JSON value and the bytes it came from."""
    if not isinstance(value, dict):
        return events.Ignored(raw=raw)
    kind = type_of(value)
    if kind == "system":
        return _system(value, raw)
    if kind in _KINDS:
        return _with_raw(read_struct(_KINDS[kind], value), raw)
    return events.Unknown(raw=raw, kind=kind, value=value)


def convert(value: Any, kind: type[_StructT]) -> _StructT:
    """Return a struct from a decoded JSON value; fields of a wrong type keep their defaults."""
    try:
        return msgspec.convert(value, kind)
    except _CONVERT_ERRORS:
        return read_struct(kind, value) if isinstance(value, dict) else kind()


def struct_decoder(kind: type[_StructT]) -> Callable[[bytes | msgspec.Raw], _StructT]:
    """Return a decoder from JSON bytes to a struct; fields of a wrong type keep their defaults."""
    decode = msgspec.json.Decoder(kind).decode

    def decode_tolerant(data: bytes | msgspec.Raw) -> _StructT:
        try:
            return decode(data)
        except _CONVERT_ERRORS:
            return convert(from_json(data), kind)

    return decode_tolerant


def read_struct(kind: type[_StructT], value: JsonObject) -> _StructT:
    """Build a struct field by field; fields of a wrong type keep their defaults."""
    fields: JsonObject = {}
    for name, encoded_name, wanted in _fields(kind):
        if encoded_name in value:
            field = _read_field(wanted, value[encoded_name])
            if field is not msgspec.UNSET:
                fields[name] = field
    return kind(**fields)


def decode_blocks(content: list[Any]) -> tuple[blocks.AnyBlock, ...]:
    """Decode each block of a message by itself."""
    return tuple(_block(item) for item in content)


def token_count(value: Any) -> int:
    """Return a number of tokens from any value; 0 for what is not a number."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def _split_objects(line: bytes) -> list[events.Event]:
    """Decode several objects on one line; what follows the last whole one is malformed.

    The line must begin with an object: a line of text may begin with a number or a quoted name.
    Bytes that are not UTF-8 become surrogates here, so that each piece can be encoded to its exact bytes.
    """
    import json  # late: few logs have such lines

    scan = json.JSONDecoder(strict=False).raw_decode
    text = line.decode("utf-8", "surrogateescape")
    decoded: list[events.Event] = []
    position = _after_blanks(text, 0)
    error: Exception = ValueError("an object followed by other text")
    while position < len(text) and text[position] == "{" and len(decoded) < GLUED_LIMIT:
        try:
            _, end = scan(text, position)
        except (ValueError, RecursionError) as scan_error:
            error = scan_error
            break
        if not decoded and _after_blanks(text, end) == len(text):
            return []
        decoded.extend(decode_tolerantly(_piece(text, position, end)))
        position = _after_blanks(text, end)
    if decoded and position < len(text):
        decoded.append(_malformed(_piece(text, position, len(text)), error))
    return decoded


def _after_blanks(text: str, position: int) -> int:
    match = _blanks(text, position)
    return match.end() if match else position


def _piece(text: str, start: int, end: int) -> bytes:
    return text[start:end].encode("utf-8", "surrogateescape")


def _malformed(line: bytes, error: Exception) -> events.Malformed:
    reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
    return events.Malformed(raw=line, reason=reason[:_REASON_LIMIT])


def _system(value: JsonObject, raw: bytes) -> events.Event:
    match value:
        case {"subtype": str(subtype)} if subtype in system.SYSTEM_KINDS:
            return _with_raw(read_struct(system.SYSTEM_KINDS[subtype], value), raw)
        case {"subtype": str(subtype)}:
            return system.System(raw=raw, subtype=subtype, value=value)
    return system.System(raw=raw, value=value)


def _with_raw(event: events.Event, raw: bytes) -> events.Event:
    msgspec.structs.force_setattr(event, "raw", raw)
    return event


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, str, Any]]:
    hints = get_type_hints(kind)
    fields = msgspec.structs.fields(kind)
    return [(field.name, field.encode_name, hints[field.name]) for field in fields if field.name != "raw"]


def _read_field(wanted: Any, value: Any) -> Any:
    if wanted is msgspec.Raw:
        return to_raw(value)
    if wanted is events.Message:
        return _message(value)
    if wanted == events.Usage | None:
        return _usage(value)
    try:
        return msgspec.convert(value, wanted)
    except _CONVERT_ERRORS:
        return _read_nested(wanted, value)


def _read_nested(wanted: Any, value: Any) -> Any:
    """Read the struct or structs in a field whose value cannot be converted as a whole."""
    struct, is_tuple = _nested_struct(wanted)
    if struct is not None and is_tuple and isinstance(value, list):
        return tuple(read_struct(struct, item) for item in value if isinstance(item, dict))
    if struct is not None and not is_tuple and isinstance(value, dict):
        return read_struct(struct, value)
    return msgspec.UNSET


@cache
def _nested_struct(wanted: Any) -> tuple[type[msgspec.Struct] | None, bool]:
    """Return the struct in a field's type, and whether the field is a tuple of them."""
    for option in get_args(wanted) if get_origin(wanted) is types.UnionType else (wanted,):
        is_tuple = get_origin(option) is tuple
        kind = get_args(option)[0] if is_tuple else option
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return kind, is_tuple
    return None, False


def _message(value: Any) -> Any:
    if not isinstance(value, dict):
        return msgspec.UNSET
    fields = dict(value)
    content = fields.pop("content", None)
    message = read_struct(events.Message, fields)
    if isinstance(content, list):
        return msgspec.structs.replace(message, content=decode_blocks(content))
    return msgspec.structs.replace(message, content=content) if isinstance(content, str) else message


def _usage(value: Any) -> Any:
    if not isinstance(value, dict):
        return msgspec.UNSET
    counts = {
        name: token_count(item) if name.endswith("_tokens") else item
        for name, item in value.items()
        if not (name.endswith("_tokens") and item is None)
    }
    return read_struct(events.Usage, counts)


def _block(item: Any) -> blocks.AnyBlock:
    known = blocks.KNOWN_BLOCKS.get(type_of(item))
    if known is None:
        return blocks.UnknownBlock(value=item)
    if known is blocks.Text and not isinstance(item.get("text", ""), str):
        return blocks.UnknownBlock(value=item)  # shown as it was sent
    id_field = _CALL_IDS.get(known, "")
    if type(item.get(id_field)) is int:  # a result is joined to its call by the same text
        item = {**item, id_field: str(item[id_field])}
    return read_struct(known, item)
