"""Foreign text in a Markdown document: nothing in it can become HTML, a link, an image, a heading, or end a code block.

Emphasis, lists, quotations and tables of an agent's own Markdown stay. Callers mask secrets and escape control
characters first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from bridle.wire.transcript.prose_and_code import Code, split_code

MIN_FENCE = 3
_BACKTICKS = re.compile(r"`+")
_LINE_ESCAPED = str.maketrans(
    {character: f"\\{character}" for character in "\\`*_[]|#~"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
_PROSE_ESCAPED = str.maketrans({"\\": "\\\\", "`": "\\`", "[": "\\[", "~": "\\~", "<": "&lt;", "&": "&amp;"})
# What may be before a heading: the marks of quotations and lists.
_MARK = re.compile(r"[ \t>]+|[*+-][ \t]|\d{1,9}[.)][ \t]")
# The beginning of a heading, or the whole line below one.
_HEADING = re.compile(r"#{1,6}(?=[ \t]|$)|=+[ \t]*$|-+[ \t]*$")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+.#-]{1,40}")


def escape_line(text: str) -> str:
    """Return a text as one line without any meaning in Markdown, such as a title."""
    return " ".join(text.split()).translate(_LINE_ESCAPED)


def code_span(text: str) -> str:
    """Return a text as one line of code; empty for an empty text."""
    line = " ".join(text.split())
    if not line:
        return ""
    ticks = "`" * _free_length(line, 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str, language: str = "") -> Iterator[str]:
    """Yield the lines of a code block; its fence is longer than any run of backticks in the text."""
    fence = "`" * _free_length(text, MIN_FENCE)
    known = _LANGUAGE.match(language)
    yield f"{fence}{known[0] if known else ''}"
    yield from text.strip("\n").split("\n")
    yield fence


def prose(text: str) -> Iterator[str]:
    """Yield the lines of an agent's Markdown: its code blocks closed, everything in it that could act escaped."""
    for index, part in enumerate(split_code(text)):
        if index:
            yield ""
        if isinstance(part, Code):
            yield from fenced(part.text, part.language)
        else:
            yield from map(_prose_line, part.text.split("\n"))


def quoted(lines: Iterator[str], depth: int = 1) -> Iterator[str]:
    """Yield lines as a quotation, which nests."""
    mark = "> " * depth
    for line in lines:
        yield f"{mark}{line}".rstrip()


def _prose_line(line: str) -> str:
    """Escape one line; a code span that ends in its line stays, since nothing inside it has a meaning."""
    pieces, position = [], 0
    for opening in _BACKTICKS.finditer(line):
        if opening.start() < position:
            continue
        end = _span_end(line, opening)
        if end is not None:
            pieces += [line[position : opening.start()].translate(_PROSE_ESCAPED), line[opening.start() : end]]
            position = end
    pieces.append(line[position:].translate(_PROSE_ESCAPED))
    return _without_heading("".join(pieces))


def _without_heading(line: str) -> str:
    position = 0
    # First the heading: a hyphen that only spaces follow is the mark of a list, and a heading below a line of text.
    while not (heading := _HEADING.match(line, position)) and (mark := _MARK.match(line, position)):
        position = mark.end()
    return f"{line[:position]}\\{line[position:]}" if heading else line


def _span_end(line: str, opening: re.Match[str]) -> int | None:
    """Return where the code span ends that a run of backticks opens; a run of three could open a code block."""
    if len(opening[0]) >= MIN_FENCE:
        return None
    closings = _BACKTICKS.finditer(line, opening.end())
    return next((run.end() for run in closings if len(run[0]) == len(opening[0])), None)


def _free_length(text: str, least: int) -> int:
    """Return a number of backticks that the text does not have in a row."""
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(text)), default=0)
    return max(least, longest + 1)
