"""Kinds of setting values: each one reads, formats and describes a form of value. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridle.ground.suggest import close_names
from bridle.loop.text import durations
from bridle.loop.text.path_patterns import checked_pattern


@dataclass(frozen=True, slots=True)
class Kind:
    """A form of value."""

    expected: str
    """What a value must be, to follow "must be" in a message."""
    read: Callable[[object], Any]
    """Return the value. Raises ValueError with what was given instead, as "got …"."""
    show: Callable[[Any], str]
    """Format the value as in `bridle.toml`."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The JSON Schema of what `read` accepts; it may accept more."""


def never(_value: Any, _own: Any) -> bool:
    """Let a repository choose any value."""
    return False


def differs(value: Any, own: Any) -> bool:
    """Let a repository choose only the user's own value without trust."""
    return bool(value != own)


def is_above(value: Any, own: Any) -> bool:
    """Let a repository choose values up to the user's own without trust."""
    return bool(value > own)


@dataclass(frozen=True, slots=True)
class Key:
    """One key of `bridle.toml`."""

    name: str
    attribute: str
    """The field of `Settings` that holds it."""
    kind: Kind
    default: Any
    help: str
    not_in_repository: tuple[Any, ...] = ()
    """Values that a repository's file may not choose for its users."""
    needs_trust: Callable[[Any, Any], bool] = never
    """Whether a repository's value, beside that of the user, counts only after `bridle trust`."""
    is_personal: bool = False
    """Whether only the user's own file may set it."""


def setting(
    kind: Kind,
    help_text: str,
    *,
    default: Any,
    name: str | None = None,
    not_in_repository: tuple[Any, ...] = (),
    needs_trust: Callable[[Any, Any], bool] = never,
    is_personal: bool = False,
) -> Any:
    """Return a field of `Settings` that is a key of `bridle.toml`, under its own or another name."""
    return field(
        default=default,
        metadata={
            "kind": kind,
            "help": help_text,
            "name": name,
            "not_in_repository": not_in_repository,
            "needs_trust": needs_trust,
            "is_personal": is_personal,
        },
    )


def near(name: str, known: Sequence[str]) -> str:
    """Return "; did you mean …?" for the closest known names, or an empty string."""
    names = close_names(name, known, limit=2)
    return f"; did you mean {' or '.join(names)}?" if names else ""


def choice(*values: str) -> Kind:
    """Return the kind for one of a few words."""

    def read(value: object) -> str:
        if isinstance(value, str) and value in values:
            return value
        raise ValueError(f"got {shown(value)}" + (near(value, values) if isinstance(value, str) else ""))

    return Kind(f"one of {', '.join(values)}", read, _quote, {"enum": [str(value) for value in values]})


def count(minimum: int) -> Kind:
    """Return the kind for an integer of at least `minimum`."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"got {shown(value)}")
        if not minimum <= value <= _LARGEST:
            raise ValueError(f"got {shown(value)}" + _at_most(value))
        return value

    schema = {"type": "integer", "minimum": minimum, "maximum": _LARGEST}
    return Kind(f"an integer of at least {minimum}", read, str, schema)


def names(known: tuple[str, ...]) -> Kind:
    """Return the kind for known names in order of preference: one, several with commas, or a list."""

    def read(value: object) -> tuple[str, ...]:
        entries = value.split(",") if isinstance(value, str) else value
        if not isinstance(entries, (list, tuple)) or not all(isinstance(entry, str) for entry in entries):
            raise ValueError(f"got {shown(value)}")
        chosen = tuple(dict.fromkeys(name for entry in entries if (name := entry.strip())))
        if not chosen:
            raise ValueError("got no name")
        for name in chosen:
            if name not in known:
                raise ValueError(f"got {name!r}{near(name, known)}")
        return chosen

    listed = {"type": "array", "minItems": 1, "items": {"enum": list(known)}}
    return Kind(
        f"one or more of {', '.join(known)}",
        read,
        _format_list,
        {"anyOf": [{"type": "string", "minLength": 1}, listed]},
    )


def _read_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"got {shown(value)}")


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"got {shown(value)}")
    if not value.strip():
        raise ValueError("got an empty text")
    text = value.strip()
    control = _CONTROL.search(text)
    if control:
        raise ValueError(f"got the control character {control.group()!r} in it")
    return text


def _read_texts(value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        raise ValueError(f"got {shown(value)}")
    return tuple(_read_text(text) for text in texts)


def _read_patterns(value: object) -> tuple[str, ...]:
    return tuple(checked_pattern(text) for text in _read_texts(value))


def _read_money(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"got {shown(value)}")
    if not math.isfinite(value) or not 0 < value <= _LARGEST:
        raise ValueError(f"got {shown(value)}" + _at_most(value))
    return float(value)


def _read_duration(value: object) -> float:
    if isinstance(value, str):
        return durations.parse_duration(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"got {shown(value)}")
    return durations.checked_seconds(float(value))


def _read_age(value: object) -> float:
    if value == 0 and not isinstance(value, bool):
        return 0.0
    text = value.strip().lower() if isinstance(value, str) else ""
    return 0.0 if text in _ZERO else _read_duration(value)


def _at_most(value: float) -> str:
    return f" (the largest value is {_LARGEST})" if value > _LARGEST else ""


def shown(value: object) -> str:
    """Describe a wrong value in a message, cut to fit a line."""
    if isinstance(value, (dict, list, tuple)):
        return "a table" if isinstance(value, dict) else "a list"
    text = repr(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _quote(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'


def _format_list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_quote, values))}]"


_ZERO = frozenset({"0", "0s", "0m", "0h", "0d"})
# A larger number is a typing error.
_LARGEST = 1_000_000
_SHOWN_CHARACTERS = 60
# All but the tab. A terminal would not show such a text as it is.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

_TEXT_SCHEMA: Mapping[str, Any] = {"type": "string", "minLength": 1}
_TEXTS_SCHEMA: Mapping[str, Any] = {"anyOf": [_TEXT_SCHEMA, {"type": "array", "items": _TEXT_SCHEMA}]}
_MONEY_SCHEMA: Mapping[str, Any] = {"type": "number", "exclusiveMinimum": 0, "maximum": _LARGEST}
_DURATION_SCHEMA: Mapping[str, Any] = {"anyOf": [_TEXT_SCHEMA, {"type": "number", "exclusiveMinimum": 0}]}

FLAG = Kind("true or false", _read_flag, lambda value: "true" if value else "false", {"type": "boolean"})
TEXT = Kind("text", _read_text, _quote, _TEXT_SCHEMA)
TEXTS = Kind("text or a list of texts", _read_texts, _format_list, _TEXTS_SCHEMA)
PATTERNS = Kind("a pattern or a list of patterns inside the repository", _read_patterns, _format_list, _TEXTS_SCHEMA)
MONEY = Kind("a number above 0", _read_money, lambda value: f"{value:g}", _MONEY_SCHEMA)
DURATION = Kind(
    durations.EXPECTED, _read_duration, lambda value: _quote(durations.render_duration(value)), _DURATION_SCHEMA
)
_AGE_SCHEMA: Mapping[str, Any] = {"anyOf": [_TEXT_SCHEMA, {"type": "number", "minimum": 0}]}
AGE = Kind(
    "a duration, such as 0s, 8h or 30d, or a number of seconds",
    _read_age,
    lambda value: _quote(durations.render_duration(value)),
    _AGE_SCHEMA,
)
