"""Styled lines as rich draws them. Only here is a style's name turned into a colour."""

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
}


@cache
def style(name: str) -> Style:
    """The style of that name; a label is a bold one."""
    from rich.style import Style

    known = name.removeprefix("label.")
    return Style.parse(_STYLES[known] + " bold" if name != known else _STYLES[known])


def joined(lines: Iterable[Line]) -> Text:
    """Lines as one text, with styles and never with markup: what an agent wrote is not looked at for tags."""
    from rich.text import Text

    return Text("\n", no_wrap=True, end="").join(_styled(one) for one in lines)


def _styled(one: Line) -> Text:
    from rich.text import Text

    text = Text(end="\n")
    for piece, name in one.segments:
        text.append(piece, style(name))
    return text
