"""The page on which a conversation is drawn: its width, and what becomes of text that is foreign or long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bridle.views.terminal.escape_controls import neutralise
from bridle.views.terminal.styled_lines import Line, cells, fitted, indented, line, wrapped
from bridle.wire.mask import Mask

LONG_LINE = 600  # characters of one line of output: packed code and data are longer, prose is not


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a conversation is shown."""

    width: int = 100
    full: bool = False
    """Whether long outputs are shown whole."""
    thinking: bool = True
    guide: str = "│ "


class Page:
    """Makes lines of foreign text."""

    def __init__(self, mask: Mask, look: Look) -> None:
        self._mask = mask
        self.look = look

    def clean(self, text: str) -> str:
        """Text of others, safe to show."""
        return self._mask.apply(neutralise(text))

    def labelled(self, label: str, text: str, width: int, limit: int | None, style: str) -> Iterator[Line]:
        """A label before the first line, the others below the text."""
        head = f"{fitted(label, width // 2)} › "
        body = self.clean(text).strip("\n").split("\n")
        shown, more = self.first(body, limit, 0)
        room = width - cells(head)
        pieces = (piece for one in shown for piece in wrapped(self.cut(one), room))
        for place, piece in enumerate(pieces):
            yield Line(((head if place == 0 else " " * (width - room), f"label.{style}"), (piece, style)))
        yield from indented(more, " " * (width - room))

    def first(self, lines: list[str], limit: int | None, omitted: int) -> tuple[list[str], list[Line]]:
        """The lines to show, and a line that says how many more there are."""
        whole = self.look.full or limit is None or len(lines) <= limit + 1
        shown = lines if whole else lines[:limit]
        more = len(lines) - len(shown) + omitted
        return shown, [line(f"… {counted(more, 'more line')}", "dim")] if more else []

    def cut(self, text: str) -> str:
        """A line of bearable length."""
        if self.look.full or len(text) <= LONG_LINE:
            return text
        return f"{text[:LONG_LINE]}… {counted(len(text) - LONG_LINE, 'more character')}"


def spoken_seconds(seconds: float) -> str:
    """A duration in words."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def counted(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def left_out(characters: int) -> Iterator[Line]:
    """Say how much of a text was not kept."""
    if characters:
        yield line(f"… {counted(characters, 'more character')} in the log", "dim")
