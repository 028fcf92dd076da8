"""Hypothesis strategies for every kind of event and block, and for the JSON that is in them."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_type_hints

import msgspec
from hypothesis import strategies as st

from bridle.wire.events.blocks import KNOWN_BLOCKS, AnyBlock, Block, UnknownBlock
from bridle.wire.events.decode import decode_stream
from bridle.wire.events.events import Event, Ignored, Malformed, Message, Plain, Unknown, Usage
from bridle.wire.events.loose_json import to_raw
from bridle.wire.events.system import SYSTEM_KINDS, System

PLAIN_KINDS: tuple[type[Event], ...] = get_args(Plain)
_TOP_TYPES = [*(kind.__struct_config__.tag for kind in PLAIN_KINDS), "system"]  # a list: a type may be unhashable
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)


def _has_pair(text: str) -> bool:
    """Whether two surrogates stand together that any JSON reader makes into one character."""
    return any(ord(left) in _HIGH and ord(right) in _LOW for left, right in pairwise(text))


# Every character, lone surrogates among them.
texts = st.text(max_size=12).filter(lambda text: not _has_pair(text)) | st.sampled_from(
    ["\ud83d", "x\udcb2y", "a\nb", "\u2028\x85\x0b", "\x00", "\ufeff", '"\\'],
)
integers = st.integers() | st.sampled_from([2**63, -(2**63) - 1, 2**70])
odd_floats = st.floats(allow_nan=False) | st.sampled_from([float("inf"), -float("inf"), -0.0, 5e-324])
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | integers | odd_floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)


def usages() -> st.SearchStrategy[Usage]:
    """Token counts."""
    return _built(Usage)


def blocks() -> st.SearchStrategy[AnyBlock]:
    """Every kind of block, unknown ones among them."""
    known: st.SearchStrategy[Any] = st.sampled_from(list(KNOWN_BLOCKS.values())).flatmap(_built)
    return known | unknown_blocks()


def unknown_blocks() -> st.SearchStrategy[UnknownBlock]:
    """Blocks of kinds that nobody knows, and values that are no blocks."""
    kinds = [*KNOWN_BLOCKS, "(unknown)"]
    objects = json_objects.filter(lambda value: value.get("type") not in kinds)
    strange = objects | st.builds(lambda rest: {"type": "server_tool_use", **rest}, json_objects)
    return (strange | json_values.filter(lambda value: not isinstance(value, dict))).map(
        lambda value: UnknownBlock(value=value)
    )


def messages() -> st.SearchStrategy[Message]:
    """Messages with text or with blocks."""
    return _built(Message)


def known_events() -> st.SearchStrategy[Event]:
    """Events of every kind that has fields of its own."""
    kinds = [*PLAIN_KINDS, *SYSTEM_KINDS.values()]
    return st.sampled_from(kinds).flatmap(_built)


def unknown_events() -> st.SearchStrategy[Event]:
    """Objects of types and subtypes that nobody knows."""
    objects = json_objects.filter(lambda value: value.get("type") not in _TOP_TYPES)
    kinds = st.builds(lambda rest: {"type": "tool_progress", **rest}, json_objects)
    subtypes = texts.filter(lambda text: text not in SYSTEM_KINDS)
    systems = st.builds(
        lambda subtype, rest: System(subtype=subtype, value={**rest, "type": "system", "subtype": subtype}),
        subtypes,
        json_objects,
    )
    return (objects | kinds).map(_unknown) | systems


def refused_lines() -> st.SearchStrategy[Event]:
    """Lines that are not JSON, and JSON that is no object, as the decoder gives them."""
    words = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=20)
    decoded = words.map(lambda text: list(decode_stream([text.encode()]))).filter(lambda found: len(found) == 1)
    return decoded.map(lambda found: found[0]).filter(lambda event: isinstance(event, Malformed | Ignored))


def events() -> st.SearchStrategy[Event]:
    """Events of every kind that has bytes."""
    return known_events() | unknown_events() | refused_lines()


def _unknown(value: dict[str, Any]) -> Unknown:
    kind = value.get("type")
    return Unknown(kind=kind if isinstance(kind, str) else "", value=value)


@cache
def _built(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of this struct, field by field from its types; a subtype is the one that the class stands for."""
    hints = get_type_hints(kind)
    fields = [field for field in msgspec.structs.fields(kind) if field.name not in ("raw", "subtype")]
    if kind.__struct_config__.tag == "result":
        fields += [field for field in msgspec.structs.fields(kind) if field.name == "subtype"]
    return st.builds(kind, **{field.name: _of_type(hints[field.name]) for field in fields})


def _of_type(wanted: Any) -> st.SearchStrategy[Any]:
    if wanted in _SIMPLE:
        return _SIMPLE[wanted]
    if wanted is Message:
        return messages()
    if wanted is Usage:
        return usages()
    if isinstance(wanted, type) and issubclass(wanted, Block):
        return blocks()
    options = get_args(wanted)
    if Ellipsis in options:
        return st.lists(st.deferred(lambda: _of_type(options[0])), max_size=3).map(tuple)
    return st.one_of([st.deferred(lambda option=option: _of_type(option)) for option in options])  # type: ignore[misc]  # a lambda's default fixes the option; its type cannot be told


_SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    Any: json_values,
    str: texts,
    int: integers,
    float: odd_floats,
    bool: st.booleans(),
    type(None): st.none(),
    msgspec.Raw: json_values.map(to_raw),
    dict[str, Any]: json_objects,
    AnyBlock: blocks(),
}
