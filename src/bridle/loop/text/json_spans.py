"""Where the parts of a JSON text stand: for messages with lines, and for changes that leave all else alone. Pure.

Only for a text that the JSON reader has accepted: nothing is checked again here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text, and the line that it begins on."""

    start: int
    end: int
    line: int


def elements(text: str, start: int) -> list[Span]:
    """The elements of the array that begins there."""
    spans: list[Span] = []
    position = _skip(text, start + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        spans.append(_span(text, position, end, spans))
        position = _after_comma(text, end)
    return spans


def member_spans(text: str, start: int) -> list[tuple[str, Span]]:
    """The members of the object that begins there: each name, and where its value stands."""
    found: list[tuple[str, Span]] = []
    if text[start : start + 1] != "{":
        return found
    position = _skip(text, start + 1)
    while text[position] != "}":
        name, end = _DECODER.raw_decode(text, position)
        value = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        found.append((name, _span(text, value, end, [span for _, span in found[-1:]])))
        position = _after_comma(text, end)
    return found


def _span(text: str, start: int, end: int, before: list[Span]) -> Span:
    """Lines are counted on from the part before, so that a long text is gone through once."""
    counted, line = (before[-1].start, before[-1].line) if before else (0, 1)
    return Span(start, end, line + text.count("\n", counted, start))


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _after_comma(text: str, end: int) -> int:
    position = _skip(text, end)
    return _skip(text, position + 1) if text[position] == "," else position
