"""Frozen records with one JSON form: the base of the loop's effects and of its receipt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, get_args

import msgspec

from bridle.errors import InternalError

T = TypeVar("T")


def to_json(record: object) -> Any:
    """Return a record as JSON values, with lists as they are read from a journal."""
    return _with_lists(msgspec.to_builtins(record))


def decode(document: object, kind: type[T]) -> T:
    """Decode JSON values as a record; raise InternalError if they have another form."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise InternalError(f"{kind.__name__} cannot be decoded: {error}", payload=document) from error


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that ignores unknown fields and has a default for missing ones, so that recorded journals replay."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset()
    """JSON keys that are absent where their value is null or empty."""

    def as_json(self) -> dict[str, Any]:
        return {key: value for key, value in to_json(self).items() if value or key not in self.omitted_if_empty}

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Decode a JSON object; null counts as missing where a field cannot be null, as does anything but an object."""
        fields, nullable = document if isinstance(document, Mapping) else {}, _nullable(cls)
        return decode({key: value for key, value in fields.items() if value is not None or key in nullable}, cls)


@cache
def _nullable(kind: type[JsonRecord]) -> frozenset[str]:
    """Return the JSON keys of a record that can be null."""
    fields = msgspec.structs.fields(kind)
    return frozenset(field.encode_name for field in fields if type(None) in get_args(field.type))


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_lists(member) for key, member in value.items()}
    return [_with_lists(member) for member in value] if isinstance(value, (list, tuple)) else value
