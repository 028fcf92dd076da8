"""Read JSON objects that users or other programs wrote: fields by name and type."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from math import isfinite
from typing import Any, TypeVar

MemberT = TypeVar("MemberT", bound=StrEnum)


class JsonFields:
    """The fields of a JSON object; a field of another type counts as missing, and so does a value without fields."""

    __slots__ = ("_values",)

    def __init__(self, value: object) -> None:
        self._values: Mapping[str, Any] = value if isinstance(value, Mapping) else {}

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def value(self, name: str) -> Any:
        """Return a field of any type; None if it is missing."""
        return self._values.get(name)

    def first(self, *names: str) -> Any:
        """Return the first of these fields that is not empty, of any type; else None."""
        return next((value for name in names if (value := self._values.get(name))), None)

    def text(self, *names: str) -> str | None:
        """Return the first of these fields that is a string and not empty; else None."""
        values = map(self._values.get, names)
        return next((value for value in values if isinstance(value, str) and value), None)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return the items of a list as strings; None if the field is not a list."""
        items = self._values.get(name)
        return tuple(map(str, items)) if isinstance(items, (list, tuple)) else None

    def positive(self, name: str) -> float | None:
        """Return a number greater than 0; else None."""
        value = self.number(name)
        return value if value is not None and value > 0 else None

    def number(self, name: str) -> float | None:
        """Return a finite number, as JSON has them; `true`, NaN and infinity are numbers only to Python."""
        value = self._values.get(name)
        if isinstance(value, float):
            return value if isfinite(value) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean, or the default."""
        value = self._values.get(name)
        return value if isinstance(value, bool) else default

    def member(self, name: str, kind: type[MemberT]) -> MemberT | None:
        """Return the member of an enumeration; None for a value that this version does not know."""
        value = self._values.get(name)
        return next((member for member in kind if member.value == value), None)

    def object(self, *names: str) -> Mapping[str, Any]:
        """Return the first of these fields that is an object and not empty; else an empty one."""
        values = map(self._values.get, names)
        return next((value for value in values if isinstance(value, Mapping) and value), {})

    def fields(self, name: str) -> JsonFields:
        """Return the fields of an object in a field."""
        return JsonFields(self._values.get(name))
