"""Frozen records with one JSON form: the base of the loop's effects and of its receipt. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import msgspec

from bridle.errors import InternalError


class JsonRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record that ignores unknown fields and has a default for missing ones, so that recorded journals replay."""

    omitted_if_empty: ClassVar[frozenset[str]] = frozenset()
    """JSON keys that are absent where their value is null or empty."""

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        document = _json_values(msgspec.to_builtins(self))
        return {key: value for key, value in document.items() if value or key not in self.omitted_if_empty}

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Decode a JSON object; null counts as missing, and so does anything but an object."""
        fields = document if isinstance(document, Mapping) else {}
        try:
            return msgspec.convert({key: value for key, value in fields.items() if value is not None}, cls)
        except msgspec.ValidationError as error:
            raise InternalError(f"{cls.__name__} cannot be decoded: {error}", payload=document) from error


def _json_values(value: Any) -> Any:
    """Replace tuples by lists, as they are read from a journal."""
    if isinstance(value, dict):
        return {key: _json_values(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_values(member) for member in value]
    return value
