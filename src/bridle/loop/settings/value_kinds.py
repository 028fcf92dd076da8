"""What a setting may be: one kind for each form of value, which reads it, shows it and names it. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bridle.ground.suggest import close_names
from bridle.loop.text.durations import checked_seconds, parse_duration, show_duration


@dataclass(frozen=True, slots=True)
class Kind:
    """A form of value."""

    words: str
    """What it must be, to go after "must be"."""
    read: Callable[[object], Any]
    """The value; ValueError, with what is wrong about it, where it is no such thing."""
    show: Callable[[Any], str]
    """The value as it stands in the file."""


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
    """Values that a repository may not choose for whoever works in it."""


def setting(
    kind: Kind, words: str, *, default: Any, name: str | None = None, not_in_repository: tuple[Any, ...] = ()
) -> Any:
    """A field of `Settings` that is a key of `bridle.toml`, by its own name or another one."""
    return field(
        default=default,
        metadata={"kind": kind, "help": words, "name": name, "not_in_repository": not_in_repository},
    )


def near(name: str, known: Sequence[str]) -> str:
    """A question that names what was probably meant; empty where nothing is near."""
    names = close_names(name, known, limit=2)
    return f"; did you mean {' or '.join(names)}?" if names else ""


def choice(*values: str) -> Kind:
    """One of a few words."""

    def read(value: object) -> str:
        if isinstance(value, str) and value in values:
            return value
        raise ValueError(f"{shown(value)} is not one of them" + (near(value, values) if isinstance(value, str) else ""))

    return Kind(f"one of {', '.join(values)}", read, _quoted)


def count(minimum: int) -> Kind:
    """A whole number from a minimum on."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{shown(value)} is none")
        if not minimum <= value <= _LARGEST:
            raise ValueError(f"{value} is not between {minimum} and {_LARGEST}")
        return value

    return Kind(f"a whole number from {minimum} on", read, str)


def names(known: tuple[str, ...]) -> Kind:
    """Names out of a list, in the order of preference; one, several with commas, or a list."""

    def read(value: object) -> tuple[str, ...]:
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, (list, tuple)) or not all(isinstance(one, str) for one in given):
            raise ValueError(f"{shown(value)} is none")
        found = tuple(dict.fromkeys(name for one in given if (name := one.strip())))
        if not found:
            raise ValueError("it names nothing")
        for name in found:
            if name not in known:
                raise ValueError(f"{name!r} is not one of {', '.join(known)}{near(name, known)}")
        return found

    return Kind(f"a name or a list of names out of {', '.join(known)}", read, _listed)


def _read_flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError(f"{shown(value)} is neither")


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is none")
    if not value.strip():
        raise ValueError("it is empty")
    return _without_controls(value.strip())


def _read_texts(value: object) -> tuple[str, ...]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, (list, tuple)):
        raise ValueError(f"{shown(value)} is neither")
    return tuple(_read_text(one) for one in given)


def _read_pattern(value: object) -> tuple[str, ...]:
    from bridle.loop.text.path_patterns import checked_pattern

    return tuple(checked_pattern(one) for one in _read_texts(value))


def _read_money(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{shown(value)} is none")
    if not math.isfinite(value) or not 0 < value <= _LARGEST:
        raise ValueError(f"{value} is not between 0 and {_LARGEST}")
    return float(value)


def _read_duration(value: object) -> float:
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{shown(value)} is none")
    return checked_seconds(float(value))


def _without_controls(text: str) -> str:
    found = _CONTROL.search(text)
    if found:
        raise ValueError(f"it holds the control character {found.group()!r}")
    return text


def shown(value: object) -> str:
    """A wrong value in a message: what it is, and no more of it than a line takes."""
    if isinstance(value, (dict, list, tuple)):
        return "a table" if isinstance(value, dict) else "a list"
    text = repr(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{escaped}"'


def _listed(value: Sequence[str]) -> str:
    return f"[{', '.join(map(_quoted, value))}]"


# Anything larger is a slip of the hand, and no bound.
_LARGEST = 1_000_000
_SHOWN_CHARACTERS = 60
# All but the tab: what a terminal shows of such a text is not what it says.
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

FLAG = Kind("true or false", _read_flag, lambda value: "true" if value else "false")
TEXT = Kind("text", _read_text, _quoted)
TEXTS = Kind("text or a list of texts", _read_texts, _listed)
PATTERNS = Kind("a pattern or a list of patterns, below the repository", _read_pattern, _listed)
MONEY = Kind("a number above 0", _read_money, lambda value: f"{value:g}")
DURATION = Kind(
    "a length of time: seconds, or text as 90s, 15m, 8h", _read_duration, lambda value: _quoted(show_duration(value))
)
