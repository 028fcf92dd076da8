"""A conversation on standard output: in colour on a terminal, plain in a pipe, whole or as it grows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from bridle.views.terminal.cards import Cards
from bridle.views.terminal.escape_controls import escape_unprintable
from bridle.views.terminal.footer import gauge_lines
from bridle.views.terminal.growing_lines import GrowingLines
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.views.terminal.rich_text import rich_style, to_rich_text
from bridle.views.terminal.styled_lines import BLANK, Line, styled_line
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import gauge_of
from bridle.wire.record.record import Record
from bridle.wire.transcript.transcript import Transcript

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

PLAIN_WIDTH = 100
PLAIN_GUIDE = "| "
# One print of rich costs as much as dozens of lines; this many segments at a time fill a few screens.
PRINTED_SEGMENTS = 500


class PlainView:
    """A conversation written without colour, at a width that does not depend on the output."""

    def __init__(
        self, transcript: Transcript, mask: Mask, options: DisplayOptions, out: TextIO, record: Record | None = None
    ) -> None:
        cards = Cards(transcript, mask, options)
        self._lines = GrowingLines(transcript, cards, options, has_live_region=False)
        self._gauge = _GaugeLines(record, mask, options)
        self._out = out
        self._mask = mask

    def heading(self, text: str, *, is_first: bool) -> None:
        """Write what the conversation is about, below the one before."""
        self._write(_heading(text, self._mask, is_first=is_first))

    def update(self) -> None:
        """Write what is new since the last update."""
        self._write(self._lines.settled())

    def finish(self) -> None:
        """Write the rest, and how full the context is."""
        self._write(self._lines.rest())
        self._write(self._gauge.lines())

    def close(self) -> None:
        """Do nothing: plain text holds no terminal state."""

    def _write(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._out.write(line.plain + "\n")
        self._out.flush()


class ColourView:
    """A conversation drawn with rich; while it grows, unsettled items are redrawn at the bottom."""

    def __init__(
        self,
        transcript: Transcript,
        mask: Mask,
        options: DisplayOptions,
        console: Console,
        record: Record | None = None,
    ) -> None:
        cards = Cards(transcript, mask, options)
        self._lines = GrowingLines(transcript, cards, options, has_live_region=True)
        self._gauge = _GaugeLines(record, mask, options)
        self._console = console
        self._mask = mask
        self._live: Live | None = None

    def heading(self, text: str, *, is_first: bool) -> None:
        """Draw what the conversation is about, below the one before."""
        self._print(_heading(text, self._mask, is_first=is_first))

    def update(self) -> None:
        """Draw the items that have settled since the last update, and redraw the others."""
        self._print(self._lines.settled())
        self._redraw()

    def finish(self) -> None:
        """Draw the rest, and how full the context is."""
        self.close()
        self._print(self._lines.rest())
        self._print(self._gauge.lines())

    def close(self) -> None:
        """Erase the live region and release the terminal."""
        if self._live is not None:
            self._live.update(to_rich_text([]), refresh=True)
            self._live.stop()
            self._live = None

    def _print(self, lines: Iterable[Line]) -> None:
        from rich.segment import Segment, Segments

        segments: list[Segment] = []
        for line in lines:
            segments += (Segment(piece, rich_style(name)) for piece, name in line.segments if piece)
            segments.append(Segment.line())
            if len(segments) > PRINTED_SEGMENTS:
                self._console.print(Segments(segments), end="", crop=False, soft_wrap=True)
                segments = []
        if segments:
            self._console.print(Segments(segments), end="", crop=False, soft_wrap=True)

    def _redraw(self) -> None:
        from rich.live import Live

        # The newest lines matter most, and there is one screen for them.
        lines = [*self._lines.unsettled(), *self._gauge.lines()][-max(self._console.height - 2, 1) :]
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(to_rich_text(lines), refresh=True)


class _GaugeLines:
    """The lines below a conversation: how full the context is, and when the account's limit resets."""

    def __init__(self, record: Record | None, mask: Mask, options: DisplayOptions) -> None:
        self._record = record
        self._page = Page(mask, options)

    def lines(self) -> Iterator[Line]:
        """Yield the lines as they are now."""
        if self._record is not None:
            yield from gauge_lines(self._page, gauge_of(self._record), self._page.options.width)


def _heading(text: str, mask: Mask, *, is_first: bool) -> list[Line]:
    title = escape_unprintable(mask.apply(text)).replace("\n", " ")
    return [*([] if is_first else [BLANK]), styled_line(f"══ {title}", "summary"), BLANK]


def display_options(
    *, is_terminal: bool, width: int | None, terminal_width: int, full: bool, thinking: bool
) -> DisplayOptions:
    """Return how to show a conversation on that output."""
    if is_terminal:
        return DisplayOptions(width=width or terminal_width, full=full, thinking=thinking)
    return DisplayOptions(width=width or PLAIN_WIDTH, full=full, thinking=thinking, guide=PLAIN_GUIDE)
