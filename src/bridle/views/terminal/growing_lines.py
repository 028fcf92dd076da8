"""A growing conversation as lines, each written once: an item when it settles, a call also when it starts.

Items inside a sub-agent are written as they settle, behind a guide and below the head of their call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from bridle.views.terminal.cards import OUTPUT_LINES, Cards
from bridle.views.terminal.page import DisplayOptions
from bridle.views.terminal.styled_lines import BLANK, Line, indent, styled_line
from bridle.wire.transcript.items import AnyItem, Call, Notice, Speaker, State, TextItem, Thought
from bridle.wire.transcript.transcript import Transcript


class GrowingLines:
    """The lines that were written, and those that can still change.

    With `has_live_region` the caller redraws the unsettled items below the written lines. Without it, the start of a
    call is written too, and a text is written at once although it may be extended.
    """

    def __init__(self, transcript: Transcript, cards: Cards, options: DisplayOptions, *, has_live_region: bool) -> None:
        self._transcript = transcript
        self._cards = cards
        self._options = options
        self._has_live_region = has_live_region
        self._visited: dict[str | None, int] = {}
        """How many items of each thread were written or are unsettled."""
        self._unsettled: dict[int, None] = {}
        self._calls: dict[str, int] = {}
        self._opened: set[int] = set()
        """The calls whose head was written before their end."""
        self._thread: str | None = None
        self._previous: AnyItem | None = None
        self._was_start = False
        self._is_ending = False
        self._text: tuple[int, list[Line]] | None = None
        """The last item where it is a text, with its written lines: more text can follow."""

    def settled(self) -> Iterator[Line]:
        """Yield the lines of what has settled since the last call."""
        yield from self._rest_of_text()
        yield from self._settle()
        visited: set[str | None] = set()
        while threads := [thread for thread in (None, *self._threads_inside()) if thread not in visited]:
            visited.update(threads)
            for thread in threads:
                yield from self._visit(thread)

    def rest(self) -> Iterator[Line]:
        """Yield the lines of everything that was not written, in its present state."""
        self._is_ending = True
        yield from self.settled()
        for item_id in tuple(self._unsettled):
            item = self._transcript.item(item_id)
            if item is not None and item_id not in self._opened:
                yield from self._end(item)
        self._unsettled.clear()
        for thread in self._transcript.threads:
            yield from self._visit(thread, is_last=True)

    def unsettled(self) -> list[Line]:
        """Return the lines of the items that may still change, those of a sub-agent below its call."""
        lines = list(self._unsettled_in(None))
        return [BLANK, *lines] if lines and self._previous is not None else lines

    def _unsettled_in(self, thread: str | None) -> Iterator[Line]:
        items = [item for item_id in self._unsettled if (item := self._transcript.item(item_id)) is not None]
        for item in (*(item for item in items if item.thread == thread), *self._remaining(thread)):
            if not isinstance(item, Call):
                yield from indent([*self._card(item), BLANK], self._guide(thread), "guide")
                continue
            opening = list(self._cards.opening(item, self._width(thread)))
            yield from indent(opening[:1] if item.id in self._opened else opening, self._guide(thread), "guide")
            yield from self._unsettled_in(item.call_id) if item.call_id else ()

    def _settle(self) -> Iterator[Line]:
        """Write the unsettled items that have settled."""
        for item_id in tuple(self._unsettled):
            item = self._transcript.item(item_id)
            if item is None or _is_settled(item):
                del self._unsettled[item_id]
                yield from self._end(item) if item is not None else ()

    def _visit(self, thread: str | None, *, is_last: bool = False) -> Iterator[Line]:
        """Write the new items of a thread."""
        remaining = self._remaining(thread)
        for item in remaining:
            if not is_last and self._is_growing(item, is_newest=item is remaining[-1]):
                break
            self._visited[thread] = self._visited.get(thread, 0) + 1
            if isinstance(item, Call) and item.call_id:
                self._calls[item.call_id] = item.id
            if is_last or _is_settled(item):
                yield from self._end(item)
                continue
            self._unsettled[item.id] = None
            if isinstance(item, Call) and not self._has_live_region:
                yield from self._open(item)

    def _remaining(self, thread: str | None) -> tuple[AnyItem, ...]:
        return self._transcript.items(thread, start=self._visited.get(thread, 0))

    def _threads_inside(self) -> list[str]:
        """Return the threads of the unsettled calls."""
        items = (self._transcript.item(item_id) for item_id in self._unsettled)
        return [item.call_id for item in items if isinstance(item, Call) and item.call_id]

    def _is_growing(self, item: AnyItem, *, is_newest: bool) -> bool:
        """Return whether an item is incomplete, or a text that the next item can extend."""
        if isinstance(item, TextItem | Thought) and item.live:
            return True
        return self._has_live_region and is_newest and _can_be_extended(item)

    def _open(self, call: Call) -> Iterator[Line]:
        """Write the start of a call."""
        yield from self._write(call, self._cards.opening(call, self._width(call.thread)), is_start=True)
        self._opened.add(call.id)

    def _end(self, item: AnyItem) -> Iterator[Line]:
        """Write an item in its final state; of an opened call only its end, as the rest was written."""
        if isinstance(item, Call) and item.id in self._opened:
            yield from self._visit(item.call_id, is_last=True)
            yield from self._write(item, self._cards.closing(item, self._width(item.thread)))
            return
        lines = list(self._card(self._beginning(item)))
        yield from self._write(item, lines)
        self._text = (item.id, lines) if _can_be_extended(item) else None
        if isinstance(item, Call):
            self._mark_visited(item)

    def _card(self, item: AnyItem) -> Iterator[Line]:
        return self._cards.card(item, self._width(item.thread))

    def _beginning(self, item: AnyItem) -> AnyItem:
        """Return stray lines without those that are only counted, while more can follow: the count is written last."""
        is_stray = isinstance(item, TextItem) and item.speaker is Speaker.STRAY
        if not isinstance(item, TextItem) or not is_stray or self._is_ending or self._remaining(item.thread):
            return item
        return replace(item, text="\n".join(item.text.split("\n", OUTPUT_LINES)[:OUTPUT_LINES]), omitted_characters=0)

    def _mark_visited(self, call: Call) -> None:
        """Note that everything inside a call was written with it."""
        inside = self._transcript.items(call.call_id) if call.call_id else ()
        if inside:
            self._visited[call.call_id] = len(inside)
        for item in inside:
            if isinstance(item, Call):
                self._calls[item.call_id] = item.id
                self._mark_visited(item)

    def _rest_of_text(self) -> Iterator[Line]:
        """Write what was added to the text that was written last."""
        item = self._transcript.item(self._text[0]) if self._text is not None else None
        if item is None or self._text is None:
            return
        before, now = self._text[1], list(self._card(self._beginning(item)))
        same = next((at for at, (old, new) in enumerate(zip(before, now, strict=False)) if old != new), len(before))
        rest = now[same:]
        if rest and same < len(before) and rest[0].plain.startswith(before[same].plain):
            continued = rest[0].plain[len(before[same].plain) :].strip()
            rest = [*([styled_line(f"  {continued}", "answer")] if continued else []), *rest[1:]]
        yield from indent(rest, self._guide(item.thread), "guide")
        self._text = (item.id, now)

    def _write(self, item: AnyItem, card: Iterable[Line], *, is_start: bool = False) -> Iterator[Line]:
        """Write a card, after a blank line unless it and the one before are notices or starts of calls."""
        lines = list(card)
        if not lines:
            return
        yield from self._enter(item.thread)
        guide, previous = self._guide(item.thread), self._previous
        is_compact = (isinstance(previous, Notice) and isinstance(item, Notice)) or (is_start and self._was_start)
        if previous is not None and not is_compact:
            yield from indent([BLANK], guide, "guide")
        yield from indent(lines, guide, "guide") if guide else lines
        self._previous, self._text, self._was_start = item, None, is_start

    def _enter(self, thread: str | None) -> Iterator[Line]:
        """Write the head of the call in whose thread the next item is, unless the lines before are of it."""
        call = self._transcript.item(self._calls.get(thread or "", 0))
        if thread == self._thread or not isinstance(call, Call):
            self._thread = thread
            return
        is_first = call.id not in self._opened
        opening = list(self._cards.opening(call, self._width(call.thread)))[: None if is_first else 1]
        yield from self._write(call, opening)
        self._opened.add(call.id)
        self._thread, self._previous = thread, call if len(opening) > 1 else None

    def _guide(self, thread: str | None) -> str:
        return self._options.guide * self._depth(thread)

    def _width(self, thread: str | None) -> int:
        return self._options.width - len(self._guide(thread))

    def _depth(self, thread: str | None) -> int:
        depth = 0
        while thread is not None and isinstance(call := self._transcript.item(self._calls.get(thread, 0)), Call):
            depth, thread = depth + 1, call.thread
        return depth


def _can_be_extended(item: AnyItem) -> bool:
    return isinstance(item, TextItem) and item.speaker in (Speaker.AGENT, Speaker.STRAY)


def _is_settled(item: AnyItem) -> bool:
    """Return whether an item has its final state."""
    match item:
        case TextItem() | Thought():
            return not item.live
        case Notice() | Call():
            return item.state is not State.RUNNING
    return True
