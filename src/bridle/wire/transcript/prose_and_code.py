"""The prose and fenced code in the text of an answer."""

from __future__ import annotations

import re

from msgspec import Struct

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([^\n`]*)$")


class Prose(Struct, frozen=True, tag="prose"):
    """Text between code."""

    text: str


class Code(Struct, frozen=True, tag="code"):
    """A fenced code block, and its language."""

    text: str
    language: str = ""
    is_closed: bool = True
    """Whether the fence has an end; without one the block runs to the end of the text."""


def split_code(text: str) -> tuple[Prose | Code, ...]:
    """Split a text into prose and code, in order; an unclosed fence runs to the end."""
    if "```" not in text and "~~~" not in text:
        return (Prose(text),) if text else ()
    parts: list[Prose | Code] = []
    lines: list[str] = []
    fence, language = "", ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if not fence and match:
            _add(parts, lines, None)
            fence, language, lines = match[1], match[2].strip(), []
        elif fence and match and not match[2] and match[1].startswith(fence):
            _add(parts, lines, language)
            fence, lines = "", []
        else:
            lines.append(line)
    if fence:
        parts.append(Code("\n".join(lines), language, is_closed=False))
    else:
        _add(parts, lines, None)
    return tuple(parts)


def _add(parts: list[Prose | Code], lines: list[str], language: str | None) -> None:
    text = "\n".join(lines)
    if language is not None:
        parts.append(Code(text, language))
    elif text.strip():
        parts.append(Prose(text.strip("\n")))
