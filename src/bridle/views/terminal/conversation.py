"""A conversation on standard output: in colour on a terminal, plain in a pipe, whole or as it grows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from bridle.views.terminal.cards import Cards
from bridle.views.terminal.page import DisplayOptions
from bridle.views.terminal.rich_text import rich_style, to_rich_text
from bridle.views.terminal.styled_lines import BLANK, Line
from bridle.wire.mask import Mask
from bridle.wire.transcript.items import AnyItem, Call, Notice, State, TextItem, Thought
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

    def __init__(self, transcript: Transcript, mask: Mask, options: DisplayOptions, out: TextIO) -> None:
        self._order = _Order(transcript, Cards(transcript, mask, options))
        self._out = out

    def update(self) -> None:
        """Write the items that have settled since the last update."""
        self._write(self._order.settled())

    def finish(self) -> None:
        """Write the rest."""
        self._write(self._order.rest())

    def close(self) -> None:
        """Do nothing: plain text holds no terminal state."""

    def _write(self, lines: Iterable[Line]) -> None:
        for line in lines:
            self._out.write(line.plain + "\n")
        self._out.flush()


class ColourView:
    """A conversation drawn with rich; while it grows, unsettled items are redrawn at the bottom."""

    def __init__(self, transcript: Transcript, mask: Mask, options: DisplayOptions, console: Console) -> None:
        self._order = _Order(transcript, Cards(transcript, mask, options))
        self._console = console
        self._live: Live | None = None

    def update(self) -> None:
        """Draw the items that have settled since the last update, and redraw the others."""
        self._print(self._order.settled())
        self._redraw()

    def finish(self) -> None:
        """Draw the rest."""
        self.close()
        self._print(self._order.rest())

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
        lines = self._order.unsettled()[-max(self._console.height - 2, 1) :]
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(to_rich_text(lines), refresh=True)


class _Order:
    """Which items have been shown; an item is final once it and all before it have settled."""

    def __init__(self, transcript: Transcript, cards: Cards) -> None:
        self._transcript = transcript
        self._cards = cards
        self._shown_items = 0
        self._last: AnyItem | None = None

    def settled(self) -> Iterable[Line]:
        """Yield the lines of the items that are final now."""
        for item in self._remaining():
            if not self._is_settled(item):
                return
            yield from self._show(item)

    def rest(self) -> Iterable[Line]:
        """Yield the lines of all items that were not shown."""
        for item in self._remaining():
            yield from self._show(item)

    def unsettled(self) -> list[Line]:
        """Return the lines of the items that may still change."""
        lines = list(self._cards.conversation(self._remaining()))
        return [BLANK, *lines] if lines and self._last is not None else lines

    def _remaining(self) -> tuple[AnyItem, ...]:
        return self._transcript.items(start=self._shown_items)

    def _show(self, item: AnyItem) -> Iterable[Line]:
        self._shown_items += 1
        lines = list(self._cards.card(item))
        if lines:
            both_notices = isinstance(self._last, Notice) and isinstance(item, Notice)
            yield from [] if self._last is None or both_notices else [BLANK]
            self._last = item
        yield from lines

    def _is_settled(self, item: AnyItem) -> bool:
        match item:
            case TextItem() | Thought():
                return not item.live
            case Notice():
                return item.state is not State.RUNNING
            case Call() if item.background:
                return True
            case Call():
                inside = self._transcript.items(item.call_id) if item.call_id else ()
                return item.state is not State.RUNNING and all(map(self._is_settled, inside))
        return True


def display_options(
    *, is_terminal: bool, width: int | None, terminal_width: int, full: bool, thinking: bool
) -> DisplayOptions:
    """Return how to show a conversation on that output."""
    if is_terminal:
        return DisplayOptions(width=width or terminal_width, full=full, thinking=thinking)
    return DisplayOptions(width=width or PLAIN_WIDTH, full=full, thinking=thinking, guide=PLAIN_GUIDE)
