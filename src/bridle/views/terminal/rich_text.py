"""Styled lines as rich text; the one place that maps style names to colours."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from bridle.views.terminal.styled_lines import Line

if TYPE_CHECKING:
    from rich.style import Style
    from rich.text import Text

_STYLES = {
    "": "",
    "answer": "",
    "dot": "bold green",
    "code": "cyan",
    "output": "",
    "summary": "bold",
    "question": "bold yellow",
    "user": "bold blue",
    "thought": "dim italic",
    "added": "green",
    "removed": "red",
    "hunk": "cyan",
    "dim": "dim",
    "guide": "magenta",
    "state.running": "cyan",
    "state.ok": "green",
    "state.error": "red",
    "state.denied": "yellow",
    "state.interrupted": "magenta",
    "state.unanswered": "magenta",
}


@cache
def rich_style(name: str) -> Style:
    """Return the style of that name; a label's is bold."""
    from rich.style import Style

    known = name.removeprefix("label.")
    return Style.parse(_STYLES[known] + " bold" if name != known else _STYLES[known])


def to_rich_text(lines: Iterable[Line]) -> Text:
    """Join lines into one rich text; markup in an agent's text is never interpreted."""
    from rich.text import Text

    return Text("\n", no_wrap=True, end="").join(_style(line) for line in lines)


def _style(line: Line) -> Text:
    from rich.text import Text

    text = Text(end="\n")
    for piece, name in line.segments:
        text.append(piece, rich_style(name))
    return text
