"""The rules of a script that its shape cannot say: patterns, names, headers, empty scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bridle.stage.patterns import NAME, compiled, places

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# The server frames each answer itself; a script that set these would break the framing, not test it.
_FRAMING = frozenset({"content-length", "transfer-encoding", "connection"})


@dataclass(frozen=True)
class Fault:
    """What is wrong, and where."""

    path: str
    what: str


def fault_in(raw: dict[str, Any]) -> Fault | None:
    """Return the first fault of a script whose shape has been found right."""
    return next(_faults(raw), None)


def _faults(raw: dict[str, Any]) -> Iterator[Fault]:
    answers = list(_answers(raw))
    if not answers:
        yield Fault("answers", "the script has no answer at all; give `answers`, `conversations` or `otherwise`")
    for path, conversation in _conversations(raw):
        yield from _when_faults(f"{path}.when", conversation["when"])
    captured = {name for _, answer in answers for name in answer.get("capture", {})}
    for path, answer in answers:
        yield from _answer_faults(path, answer, captured)


def _conversations(raw: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, conversation in enumerate(raw.get("conversations", ())):
        yield f"conversations[{index}]", conversation


def _answers(raw: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each answer with its path, those of conversations too."""
    for prefix, holder in [("", raw), *((f"{path}.", held) for path, held in _conversations(raw))]:
        for index, answer in enumerate(holder.get("answers", ())):
            yield f"{prefix}answers[{index}]", answer
        if holder.get("otherwise") is not None:
            yield f"{prefix}otherwise", holder["otherwise"]


def _answer_faults(path: str, answer: dict[str, Any], captured: set[str]) -> Iterator[Fault]:
    if path.endswith("otherwise"):
        for key in ("when", "times"):
            if key in answer:
                yield Fault(f"{path}.{key}", "`otherwise` always fits and never runs out")
    yield from _when_faults(f"{path}.when", answer.get("when") or {})
    for name, capture in answer.get("capture", {}).items():
        yield from _capture_faults(f"{path}.capture.{name}", name, capture)
    for name, value in answer.get("headers", {}).items():
        yield from _header_faults(f"{path}.headers.{name}", name, value)
    if answer.get("after_events") is not None and answer.get("after_bytes") is not None:
        yield Fault(f"{path}.after_bytes", "give `after_events` or `after_bytes`, not both")
    yield from _walked(f"{path}.blocks", answer.get("blocks", ()), lambda at, text: _place_faults(at, text, captured))
    for key in ("message", "text"):
        yield from _place_faults(f"{path}.{key}", answer.get(key) or "", captured)


def _when_faults(path: str, when: dict[str, Any]) -> Iterator[Fault]:
    if when.get("matches") is not None:
        yield from _pattern_faults(f"{path}.matches", when["matches"], groups=None)


def _capture_faults(path: str, name: str, capture: dict[str, Any]) -> Iterator[Fault]:
    if NAME.fullmatch(name) is None:
        yield Fault(path, "a name is letters, digits and `_`, and does not begin with a digit")
    yield from _pattern_faults(f"{path}.pattern", capture["pattern"], groups=1)


def _pattern_faults(path: str, pattern: str, *, groups: int | None) -> Iterator[Fault]:
    try:
        found = compiled(pattern).groups
    except re.error as error:
        yield Fault(path, f"not a regular expression: {error}")
        return
    if groups is not None and found != groups:
        yield Fault(path, f"the pattern needs exactly one group, the value; it has {found}")


def _header_faults(path: str, name: str, value: str) -> Iterator[Fault]:
    if _TOKEN.fullmatch(name) is None:
        yield Fault(path, "not a header name")
    elif name.lower() in _FRAMING:
        yield Fault(path, "the server sets this header itself")
    if not value.isascii() or not value.isprintable() or value != value.strip():
        yield Fault(path, "a header value is plain printable text without spaces at its ends")


def _place_faults(path: str, text: str, captured: set[str]) -> Iterator[Fault]:
    for name in places(text):
        if name not in captured:
            yield Fault(path, f"nothing captures `{name}`; to send it as it stands, write `$${{{name}}}`")


def _walked(path: str, value: Any, look: Callable[[str, str], Iterator[Fault]]) -> Iterator[Fault]:
    """Yield what `look` finds in each string of the value, with the string's path."""
    if isinstance(value, str):
        yield from look(path, value)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walked(f"{path}.{key}", item, look)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _walked(f"{path}[{index}]", item, look)
