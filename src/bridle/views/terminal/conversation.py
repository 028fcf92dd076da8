"""The conversation on a terminal: in colour for a person, as plain text for a pipe, whole or as it grows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from bridle.views.terminal.cards import Cards
from bridle.views.terminal.page import Look
from bridle.views.terminal.rich_text import joined, style
from bridle.views.terminal.styled_lines import BLANK, Line
from bridle.wire.mask import Mask
from bridle.wire.transcript.items import AnyItem, Call, Notice, State, Thought, Words
from bridle.wire.transcript.transcript import Transcript

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

PLAIN_WIDTH = 100
PLAIN_GUIDE = "| "
# Each print of rich costs as much as dozens of lines; this many pieces at a time fill a few screens.
PRINTED_SEGMENTS = 500


class PlainView:
    """Writes a conversation without any colour, at a width that does not depend on where it goes."""

    def __init__(self, transcript: Transcript, mask: Mask, look: Look, out: TextIO) -> None:
        self._order = _Order(transcript, Cards(transcript, mask, look))
        self._out = out

    def update(self) -> None:
        """Write what has settled since the last time."""
        self._write(self._order.settled())

    def finish(self) -> None:
        """Write the rest."""
        self._write(self._order.rest())

    def close(self) -> None:
        """There is nothing to give back."""

    def _write(self, lines: Iterable[Line]) -> None:
        for one in lines:
            self._out.write(one.plain + "\n")
        self._out.flush()


class ColourView:
    """Draws a conversation with rich; while it grows, what has not settled stands at the bottom and changes."""

    def __init__(self, transcript: Transcript, mask: Mask, look: Look, console: Console) -> None:
        self._order = _Order(transcript, Cards(transcript, mask, look))
        self._console = console
        self._live: Live | None = None

    def update(self) -> None:
        """Draw what has settled since the last time, and redraw what has not."""
        self._print(self._order.settled())
        self._redraw()

    def finish(self) -> None:
        """Draw the rest."""
        self.close()
        self._print(self._order.rest())

    def close(self) -> None:
        """Give the terminal back."""
        if self._live is not None:
            self._live.update(joined([]), refresh=True)
            self._live.stop()
            self._live = None

    def _print(self, lines: Iterable[Line]) -> None:
        from rich.segment import Segment, Segments

        waiting: list[Segment] = []
        for one in lines:
            waiting += (Segment(piece, style(name)) for piece, name in one.segments if piece)
            waiting.append(Segment.line())
            if len(waiting) > PRINTED_SEGMENTS:
                self._console.print(Segments(waiting), end="", crop=False, soft_wrap=True)
                waiting = []
        if waiting:
            self._console.print(Segments(waiting), end="", crop=False, soft_wrap=True)

    def _redraw(self) -> None:
        from rich.live import Live

        # The end of what goes on is worth more than its beginning, and there is one screen for it.
        lines = self._order.unsettled()[-max(self._console.height - 2, 1) :]
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(joined(lines), refresh=True)


class _Order:
    """Which items have been shown. An item is shown for good once it and all before it have settled."""

    def __init__(self, transcript: Transcript, cards: Cards) -> None:
        self._transcript = transcript
        self._cards = cards
        self._place = 0
        self._last: AnyItem | None = None

    def settled(self) -> Iterable[Line]:
        """The lines of items that can be shown for good now."""
        for item in self._waiting():
            if not self._is_settled(item):
                return
            yield from self._show(item)

    def rest(self) -> Iterable[Line]:
        """The lines of all items that were not shown."""
        for item in self._waiting():
            yield from self._show(item)

    def unsettled(self) -> list[Line]:
        """The lines of the items that may still change."""
        lines = list(self._cards.conversation(self._waiting()))
        return [BLANK, *lines] if lines and self._last is not None else lines

    def _waiting(self) -> tuple[AnyItem, ...]:
        return self._transcript.items(start=self._place)

    def _show(self, item: AnyItem) -> Iterable[Line]:
        self._place += 1
        lines = list(self._cards.card(item))
        if lines:
            joined = isinstance(self._last, Notice) and isinstance(item, Notice)
            yield from [] if self._last is None or joined else [BLANK]
            self._last = item
        yield from lines

    def _is_settled(self, item: AnyItem) -> bool:
        match item:
            case Words() | Thought():
                return not item.live
            case Notice():
                return item.state is not State.RUNNING
            case Call() if item.background:
                return True
            case Call():
                inside = self._transcript.items(item.call_id) if item.call_id else ()
                return item.state is not State.RUNNING and all(map(self._is_settled, inside))
        return True


def look_for(*, is_terminal: bool, width: int | None, terminal_width: int, full: bool, thinking: bool) -> Look:
    """How to show a conversation there."""
    if is_terminal:
        return Look(width=width or terminal_width, full=full, thinking=thinking)
    return Look(width=width or PLAIN_WIDTH, full=full, thinking=thinking, guide=PLAIN_GUIDE)
