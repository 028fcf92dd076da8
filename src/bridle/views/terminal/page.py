"""The page on which a conversation is drawn: its width, and how foreign or long text is shown."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from bridle.views.format_amounts import format_count
from bridle.views.terminal.escape_controls import escape_controls, escape_unprintable
from bridle.views.terminal.styled_lines import Line, cell_width, indent, styled_line, truncate, wrap_text
from bridle.wire.mask import Mask

LONG_LINE = 600  # characters of one line of output: minified code and data are longer, prose is not


class DisplayOptions(Struct, frozen=True, kw_only=True):
    """How a conversation is shown."""

    width: int = 100
    full: bool = False
    """Whether long outputs are shown whole."""
    thinking: bool = True
    guide: str = "│ "


class Page:
    """The layout of foreign text as lines: masked, escaped, wrapped and shortened."""

    def __init__(self, mask: Mask, options: DisplayOptions) -> None:
        self._mask = mask
        self.options = options

    def clean(self, text: str) -> str:
        """Mask secrets and escape control characters."""
        return self._mask.apply(escape_controls(text))

    def escape(self, text: str) -> str:
        """Mask secrets and escape control characters, with nothing removed: for what a user decides about."""
        return self.clean(escape_unprintable(text))

    def labelled(self, label: str, text: str, width: int, limit: int | None, style: str) -> Iterator[Line]:
        """Yield the text behind a label, its further lines aligned below the first."""
        head = f"{truncate(label, width // 2)} › "
        body = self.clean(text).strip("\n").split("\n")
        shown, more = self.limit_lines(body, limit, 0)
        room = width - cell_width(head)
        pieces = (piece for text_line in shown for piece in wrap_text(self.shorten(text_line), room))
        for index, piece in enumerate(pieces):
            yield Line(((head if index == 0 else " " * (width - room), f"label.{style}"), (piece, style)))
        yield from indent(more, " " * (width - room))

    def limit_lines(self, lines: list[str], limit: int | None, omitted: int) -> tuple[list[str], list[Line]]:
        """Return the lines to show, and a line with the number of those left out."""
        whole = self.options.full or limit is None or len(lines) <= limit + 1
        shown = lines if whole else lines[:limit]
        more = len(lines) - len(shown) + omitted
        return shown, [styled_line(f"… {format_count(more, 'more line')}", "dim")] if more else []

    def shorten(self, text: str) -> str:
        """Cut a line that is longer than `LONG_LINE`, unless everything is shown."""
        if self.options.full or len(text) <= LONG_LINE:
            return text
        return f"{text[:LONG_LINE]}… {format_count(len(text) - LONG_LINE, 'more character')}"


def omitted_line(characters: int) -> Iterator[Line]:
    """Yield a line with the number of characters left out, if any."""
    if characters:
        yield styled_line(f"… {format_count(characters, 'more character')} in the log", "dim")
