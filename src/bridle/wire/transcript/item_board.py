"""Where the items of a conversation stand: their order, their threads, and which of them changed."""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec.structs import replace

from bridle.wire.transcript.items import AnyItem, Call, Footer, Item, State

# Sub-agents begin sub-agents two or three deep. A stream that nests deeper is broken or hostile, and whoever
# draws it would run out of room and of stack: what is deeper is kept in the deepest thread that is allowed.
MAX_THREAD_DEPTH = 16

_ItemT = TypeVar("_ItemT", bound=Item)


class ItemBoard:
    """Items by id, and the order of their ids in each thread. A call keeps the place where it was first seen."""

    def __init__(self) -> None:
        self.changed: dict[int, None] = {}
        self._items: dict[int, AnyItem] = {}
        self._threads: dict[str | None, list[int]] = {None: []}
        self._depths: dict[str | None, int] = {None: 0}
        self._homes: dict[str, str | None] = {}
        self._calls: dict[str, int] = {}
        self._growing: dict[int, list[str]] = {}
        self._running: dict[int, None] = {}
        self._footers: list[int] = []
        self._next_id = 1

    def put(self, made: type[_ItemT], thread: str | None = None, /, **fields: Any) -> int:
        """Add an item at the end of a thread; give its id."""
        home = self._home(thread, fields.get("at"))
        item_id, self._next_id = self._next_id, self._next_id + 1
        item = made(id=item_id, thread=home, **fields)
        self._items[item_id] = item  # type: ignore[assignment]  # every subclass of Item is one of AnyItem
        self._threads.setdefault(home, []).append(item_id)
        self._note(item)
        return item_id

    def change(self, item_id: int, **fields: Any) -> None:
        """Give an item new values."""
        self._growing.pop(item_id, None)
        item = self._items[item_id] = replace(self._items[item_id], **fields)
        self._note(item)

    def grow(self, item_id: int, piece: str) -> None:
        """Add to the text of an item that is still being said."""
        self._growing.setdefault(item_id, []).append(piece)
        self.changed[item_id] = None

    def remove(self, item_id: int) -> None:
        """Take back an item that was not meant to stay."""
        item = self._items.pop(item_id)
        self._growing.pop(item_id, None)
        ids = self._threads[item.thread]
        # It was put there a moment ago: look for it from the end.
        place = next(place for place in range(len(ids) - 1, -1, -1) if ids[place] == item_id)
        del ids[place]
        self.changed[item_id] = None

    def item(self, item_id: int) -> AnyItem | None:
        """The item as it is now; None where there is none, or none any more."""
        pieces = self._growing.get(item_id)
        if pieces is not None:
            text = "".join(pieces)
            self._growing[item_id] = [text]
            self._items[item_id] = replace(self._items[item_id], text=text)  # only words grow
        return self._items.get(item_id)

    def items(self, thread: str | None, start: int = 0) -> tuple[AnyItem, ...]:
        """The items of one thread in their order, from this place on."""
        ids = self._threads.get(thread, [])
        found = (self.item(item_id) for item_id in (ids[start:] if start else ids))
        return tuple(item for item in found if item is not None)

    def last(self, thread: str | None) -> AnyItem | None:
        """The newest item of a thread."""
        ids = self._threads.get(thread)
        return self.item(ids[-1]) if ids else None

    def call(self, call_id: str) -> Call | None:
        """The call with this id."""
        found = self._items.get(self._calls.get(call_id, 0))
        return found if isinstance(found, Call) else None

    def call_in(self, thread: str | None, call_id: str, at: float | None) -> Call:
        """The call with this id, made here where it was never seen; one without an id is always a new one."""
        home = self._home(thread, at)  # first: making the thread may make this very call
        known = self.call(call_id)
        if known is not None:
            return known
        item_id = self.put(Call, home, call_id=call_id, at=at)
        if call_id:
            self._calls[call_id] = item_id
        return self._items[item_id]  # type: ignore[return-value]  # a call was put there two lines above

    def call_again(self, thread: str | None, call_id: str, at: float | None) -> Call:
        """A new call under an id that has been used and is over. Its own name keeps the threads a tree."""
        name = f"{call_id}#{self._next_id}"
        while name in self._calls:
            name += "#"
        call = self.call_in(thread, name, at)
        self._calls[call_id] = call.id
        return call

    def running(self) -> list[Call]:
        """The calls that have not ended, in the order in which they were first seen."""
        found = (self._items[item_id] for item_id in self._running)
        return [item for item in found if isinstance(item, Call)]

    @property
    def footer_count(self) -> int:
        """How many turns have ended."""
        return len(self._footers)

    def footers(self) -> tuple[Footer, ...]:
        """The ends of the turns so far."""
        found = (self._items[item_id] for item_id in self._footers)
        return tuple(item for item in found if isinstance(item, Footer))

    @property
    def threads(self) -> tuple[str | None, ...]:
        """The threads in which something was said or done."""
        return tuple(self._threads)

    def take_changed(self) -> tuple[int, ...]:
        """The ids of the items that changed since this was last asked."""
        changed, self.changed = tuple(self.changed), {}
        return changed

    def _note(self, item: Item) -> None:
        self.changed[item.id] = None
        if isinstance(item, Call):
            if item.state is State.RUNNING:
                self._running.setdefault(item.id)
            else:
                self._running.pop(item.id, None)
        elif isinstance(item, Footer):
            self._footers.append(item.id)

    def _home(self, thread: str | None, at: float | None) -> str | None:
        """The thread in which an item is kept. Its call is made first, so threads are always a tree."""
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
