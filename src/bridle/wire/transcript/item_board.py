"""The items of a conversation: their order, their threads, and which of them changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from bridle.wire.transcript.items import AnyItem, Call, Footer, Item, State

# Sub-agents start sub-agents two or three deep. A stream that nests deeper is broken or hostile, and a view would
# run out of width and of stack: deeper items are kept in the deepest thread that is allowed.
MAX_THREAD_DEPTH = 16

_ItemT = TypeVar("_ItemT", bound=Item)


class ItemBoard:
    """Items by id, and the order of their ids in each thread; a call keeps its first position."""

    def __init__(self) -> None:
        self.changed: dict[int, None] = {}
        self._items: dict[int, AnyItem] = {}
        self._threads: dict[str | None, list[int]] = {None: []}
        self._depths: dict[str | None, int] = {None: 0}
        self._homes: dict[str, str | None] = {}
        self._calls: dict[str, int] = {}
        self._growing: dict[int, list[str]] = {}
        self._omitted: dict[int, int] = {}
        """Characters that were left out since an item was last read: a line of garbage must not cost a new item."""
        self._running: dict[int, None] = {}
        self._footers: list[int] = []
        self._next_id = 1

    def put(self, kind: type[_ItemT], thread: str | None = None, /, *, at: float | None = None, **fields: Any) -> int:
        """Add an item at the end of a thread; return its id."""
        return self.add(kind(id=0, thread=thread, at=at, **fields))

    def add(self, item: Item) -> int:
        """Add an item at the end of its thread; return its id."""
        home = self._home(item.thread, item.at)
        item_id, self._next_id = self._next_id, self._next_id + 1
        item = replace(item, id=item_id, thread=home)
        self._items[item_id] = item  # type: ignore[assignment]  # every subclass of Item is one of AnyItem
        self._threads.setdefault(home, []).append(item_id)
        self._track(item)
        return item_id

    def change(self, item_id: int, **fields: Any) -> None:
        self._growing.pop(item_id, None)
        item = self._items[item_id] = replace(self._items[item_id], **fields)
        self._track(item)

    def grow(self, item_id: int, piece: str) -> None:
        """Append to the text of an item."""
        pieces = self._growing.get(item_id)
        if pieces is None:
            pieces = self._growing[item_id] = [self._items[item_id].text]  # type: ignore[union-attr]  # only texts grow
        pieces.append(piece)
        self.changed[item_id] = None

    def omit(self, item_id: int, characters: int) -> None:
        """Count characters that were left out of an item."""
        self._omitted[item_id] = self._omitted.get(item_id, 0) + characters
        self.changed[item_id] = None

    def remove(self, item_id: int) -> None:
        item = self._items.pop(item_id)
        self._growing.pop(item_id, None)
        ids = self._threads[item.thread]
        del ids[self._index(ids, item_id)]
        self.changed[item_id] = None

    def item(self, item_id: int) -> AnyItem | None:
        """Return the item as it is now, or None if it was removed or never existed."""
        pieces = self._growing.get(item_id)
        if pieces is not None:
            text = "".join(pieces)
            self._growing[item_id] = [text]
            self._items[item_id] = replace(self._items[item_id], text=text)  # only texts grow
        omitted = self._omitted.pop(item_id, 0)
        if omitted:
            total = self._items[item_id].omitted_characters + omitted  # type: ignore[union-attr]  # only cut items
            self._items[item_id] = replace(self._items[item_id], omitted_characters=total)
        return self._items.get(item_id)

    def items(self, thread: str | None, start: int = 0) -> tuple[AnyItem, ...]:
        """Return the items of one thread in order, from an index on."""
        ids = self._threads.get(thread, [])
        items = (self.item(item_id) for item_id in (ids[start:] if start else ids))
        return tuple(item for item in items if item is not None)

    def ids(self, thread: str | None) -> Sequence[int]:
        """Return the ids of a thread's items in order, which is also that of their numbers."""
        return self._threads.get(thread, ())

    def last(self, thread: str | None) -> AnyItem | None:
        """Return the newest item of a thread."""
        ids = self._threads.get(thread)
        return self.item(ids[-1]) if ids else None

    def is_last(self, item_id: int) -> bool:
        """Return whether an item is the newest of the main thread."""
        ids = self._threads[None]
        return bool(ids) and ids[-1] == item_id

    def before(self, item_id: int) -> AnyItem | None:
        """Return the item directly before another one in its thread."""
        ids = self._threads[self._items[item_id].thread]
        index = self._index(ids, item_id)
        return self.item(ids[index - 1]) if index > 0 else None

    def call(self, call_id: str) -> Call | None:
        item = self._items.get(self._calls.get(call_id, 0))
        return item if isinstance(item, Call) else None

    def call_in(self, thread: str | None, call_id: str, at: float | None) -> Call:
        """Return the call with this id, created if it is new; a call without an id is always new."""
        home = self._home(thread, at)  # first: creating the thread may create this very call
        known = self.call(call_id)
        if known is not None:
            return known
        item_id = self.put(Call, home, call_id=call_id, at=at)
        if call_id:
            self._calls[call_id] = item_id
        return self._items[item_id]  # type: ignore[return-value]  # a call was added above

    def call_again(self, thread: str | None, call_id: str, at: float | None) -> Call:
        """Add a new call under the id of a finished one; its unique name keeps the threads a tree."""
        name = f"{call_id}#{self._next_id}"
        while name in self._calls:
            name += "#"
        call = self.call_in(thread, name, at)
        self._calls[call_id] = call.id
        return call

    def running(self) -> list[Call]:
        """Return the unfinished calls, in the order in which they were first seen."""
        items = (self._items[item_id] for item_id in self._running)
        return [item for item in items if isinstance(item, Call)]

    @property
    def footer_count(self) -> int:
        """The number of finished turns."""
        return len(self._footers)

    def footers(self) -> tuple[Footer, ...]:
        """Return the footers of the finished turns."""
        items = (self._items[item_id] for item_id in self._footers)
        return tuple(item for item in items if isinstance(item, Footer))

    @property
    def threads(self) -> tuple[str | None, ...]:
        return tuple(self._threads)

    def take_changed(self) -> tuple[int, ...]:
        """Return the ids of the items that changed since the last call."""
        changed = tuple(self.changed)
        self.changed.clear()
        return changed

    def _index(self, ids: list[int], item_id: int) -> int:
        """Return where an item is in its thread, searched from the end: it was added a moment ago."""
        return next(index for index in range(len(ids) - 1, -1, -1) if ids[index] == item_id)

    def _track(self, item: Item) -> None:
        self.changed[item.id] = None
        if isinstance(item, Call):
            if item.state is State.RUNNING:
                self._running.setdefault(item.id)
            else:
                self._running.pop(item.id, None)
        elif isinstance(item, Footer):
            self._footers.append(item.id)

    def _home(self, thread: str | None, at: float | None) -> str | None:
        """Return the thread that holds an item; its call is created first, so that threads form a tree."""
        if not thread:
            return None
        if thread in self._depths:
            return self._homes.get(thread, thread)
        parent = self.call_in(None, thread, at).thread
        depth = self._depths[thread] = self._depths.get(parent, 0) + 1
        if depth > MAX_THREAD_DEPTH:
            self._homes[thread] = parent
            return parent
        return thread
