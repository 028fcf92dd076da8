"""Positions of the members of a JSON text, for messages with lines and for edits that leave all else alone. Pure.

Only for text that the JSON decoder has accepted: nothing is validated again here.
"""

from __future__ import annotations

import json
import re

from msgspec import Struct

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class Span(Struct, frozen=True):
    """The start and end of a JSON value, and its first line."""

    start: int
    end: int
    line: int


def element_spans(text: str, start: int) -> list[Span]:
    """Return the spans of the elements of the array that begins at `start`."""
    spans: list[Span] = []
    position = _skip(text, start + 1)
    while text[position] != "]":
        _, end = _DECODER.raw_decode(text, position)
        spans.append(_span(text, position, end, spans))
        position = _after_comma(text, end)
    return spans


def member_spans(text: str, start: int) -> list[tuple[str, Span]]:
    """Return each member's name and the span of its value, for the object that begins at `start`."""
    members: list[tuple[str, Span]] = []
    if text[start : start + 1] != "{":
        return members
    position = _skip(text, start + 1)
    while text[position] != "}":
        name, end = _DECODER.raw_decode(text, position)
        value = _skip(text, _skip(text, end) + 1)
        _, end = _DECODER.raw_decode(text, value)
        members.append((name, _span(text, value, end, [span for _, span in members[-1:]])))
        position = _after_comma(text, end)
    return members


def _span(text: str, start: int, end: int, before: list[Span]) -> Span:
    """Return a span; lines are counted from the previous one, so that a long text is scanned once."""
    counted, line = (before[-1].start, before[-1].line) if before else (0, 1)
    return Span(start, end, line + text.count("\n", counted, start))


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _after_comma(text: str, end: int) -> int:
    position = _skip(text, end)
    return _skip(text, position + 1) if text[position] == "," else position
