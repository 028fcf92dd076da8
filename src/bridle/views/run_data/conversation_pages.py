"""Parts of a conversation as JSON values: a window of a thread, the items that match a filter, one item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from msgspec import to_builtins

from bridle.run import budget
from bridle.views.conversation_json import item_fields
from bridle.views.run_data.diff_rows import side_by_side
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_images import is_shown, whole_item_log
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import gauge_of
from bridle.wire.transcript.items import (
    AnyItem,
    Call,
    Failure,
    FileChange,
    Footer,
    Item,
    Notice,
    ProcessEnd,
    State,
    TextItem,
    Thought,
    TodoList,
    UnknownItem,
)
from bridle.wire.transcript.transcript import KEPT_CHARACTERS

# A window that a view asks for; more is a mistake.
WINDOW_LIMIT = 1000
MAIN = ""
"""The name of the main thread where a name must be a text."""
_FAILED = frozenset({State.ERROR, State.DENIED, State.INTERRUPTED})

Accepts = Callable[[AnyItem], bool]


class Conversation:
    """A followed log with what its items need to be shown: the mask, when it began, and where its images are."""

    def __init__(self, log: FollowedLog, mask: Mask, started_at: float | None, address: str) -> None:
        self.log = log
        self._mask = mask
        self._started_at = started_at
        self._address = address

    def window(self, thread: str | None, start: int, count: int) -> JsonObject:
        """Return items of a thread from an index on; a negative one counts from the end."""
        return self._page(self.log.transcript.item_ids(thread), start, count)

    def filtered(self, thread: str | None, accepts: Accepts, start: int, count: int) -> JsonObject:
        """Return the same of the items that a filter accepts."""
        transcript = self.log.transcript
        threads = transcript.threads if thread is None else (thread,)
        ids = sorted(item_id for name in threads for item_id in transcript.item_ids(name))
        items = (transcript.item(item_id) for item_id in ids)
        return self._page([item.id for item in items if item is not None and accepts(item)], start, count)

    def changes_after(self, position: int) -> JsonObject | None:
        """Return what changed after an offset; None where nothing did."""
        log = self.log
        changed = log.changed_after(position)
        if not changed and position >= log.position:
            return None
        found = [(item_id, log.transcript.item(item_id)) for item_id in changed]
        items = [item for _, item in found if item is not None]
        threads = {item.thread for item in items} | {item.thread for item in self._parents(items)}
        return {
            "items": [self.item(item) for item in items] + [self.item(item) for item in self._parents(items)],
            "removed": [item_id for item_id, item in found if item is None],
            "totals": {thread or MAIN: len(log.transcript.item_ids(thread)) for thread in threads | {None}},
            **self._summary(),
        }

    def item(self, item: AnyItem) -> JsonObject:
        """Return one item with its place in the log and in its thread."""
        fields = item_fields(item, self._mask)
        at = fields["at"]
        known = self._started_at is not None and isinstance(at, int | float)
        fields["at"] = round(self._started_at + at, 3) if known and self._started_at is not None else None
        if isinstance(item, Call):
            fields["children"] = len(self.log.transcript.item_ids(item.call_id)) if item.call_id else 0
            if isinstance(item.detail, FileChange):
                fields["detail"]["rows"] = side_by_side(fields["detail"]["lines"], first=_first_line(item.detail))
        images = item.images if isinstance(item, TextItem | Call) else ()
        fields["images"] = [
            to_builtins(image) | ({"href": f"{self._address}/images/{item.id}/{number}"} if is_shown(image) else {})
            for number, image in enumerate(images)
        ]
        return {**fields, "index": self.log.index_of(item), "position": self.log.position_of(item.id)}

    def whole_item(self, item_id: int) -> JsonObject | None:
        """Return one item with its texts as long as they are kept anywhere; None if the id is unknown."""
        item = self.log.transcript.item(item_id)
        if item is None:
            return None
        document = self.item(item)
        is_cut = any(document.get(name) for name in ("omitted_characters", "input_omitted"))
        longer = None if not is_cut else whole_item_log(self.log, item_id, KEPT_CHARACTERS).transcript.item(item_id)
        return document if longer is None else self.item(longer)

    def _parents(self, items: Iterable[AnyItem]) -> list[Call]:
        """Return the calls whose sub-agents have new items: the number of their children has changed."""
        known = {item.id for item in items}
        threads = {item.thread for item in items if item.thread}
        calls = [self.log.transcript.call(thread) for thread in threads]
        return [call for call in calls if call is not None and call.id not in known]

    def _page(self, ids: Sequence[int], start: int, count: int) -> JsonObject:
        total = len(ids)
        first = max(0, total + start) if start < 0 else min(start, total)
        chosen = ids[first : first + max(0, min(count, WINDOW_LIMIT))]
        found = (self.log.transcript.item(item_id) for item_id in chosen)
        items = [self.item(item) for item in found if item is not None]
        return {"items": items, "start": first, "total": total, **self._summary()}

    def _summary(self) -> JsonObject:
        log, footers = self.log, self.log.transcript.footers
        todos = None if log.todos is None else log.transcript.item(log.todos)
        return {
            "position": log.position,
            "footer": self.item(footers[-1]) if footers else None,
            "todos": item_fields(todos, self._mask)["detail"] if has_todos(todos) and todos is not None else None,
            "gauge": gauge(log),
            "is_running": log.is_running,
        }


def has_todos(item: AnyItem | None) -> bool:
    """Return whether an item is a call with a to-do list."""
    return isinstance(item, Call) and isinstance(item.detail, TodoList)


def gauge(log: FollowedLog) -> JsonObject:
    """Return the tokens and the cost of an agent so far."""
    record = log.recorder.record
    found: JsonObject = to_builtins(gauge_of(record))
    # Before its result an agent names no cost; the price of its tokens is near it.
    return found if found["cost_usd"] is not None else found | {"cost_usd": budget.cost_so_far(record, log.agent).usd}


def parse_filter(text: str) -> Accepts:
    """Return the test of a filter: `error`, `tool:NAME`, `text:WORD`, `kind:NAME`, joined by commas; all must hold."""
    tests = [test for part in text.split(",") if (test := _test(part.strip())) is not None]
    return lambda item: all(test(item) for test in tests)


def _test(part: str) -> Accepts | None:
    name, _, value = part.partition(":")
    value = unquote(value)
    match name:
        case "error":
            return is_failure
        case "tool":
            return lambda item: isinstance(item, Call) and item.name.casefold() == value.casefold()
        case "kind":
            return lambda item: _kind(item) == value
        case "text":
            return lambda item: has_text(item, value.casefold())
    return None if not part else lambda _: False


def is_failure(item: AnyItem) -> bool:
    """Return whether an item is an error, a denial or an interruption."""
    match item:
        case Call():
            return item.state in _FAILED
        case Footer():
            return item.failed
        case Failure() | ProcessEnd():
            return True
    return False


def has_text(item: AnyItem, word: str) -> bool:
    """Return whether one of an item's texts has a casefolded word."""
    return any(word in text.casefold() for text in texts_of(item))


def texts_of(item: AnyItem) -> tuple[str, ...]:
    """Return the texts of an item that are searched."""
    match item:
        case TextItem() | Thought() | Notice():
            return (item.text,)
        case Call():
            return (item.name, item.summary, item.input, item.output)
        case Failure():
            return (item.name, item.text)
        case UnknownItem():
            return (item.kind, item.raw)
        case Footer():
            return (item.text, *item.errors)
        case ProcessEnd():
            return (item.reason, item.stderr)


def _kind(item: Item) -> Any:
    return item.__struct_config__.tag


def seconds_of(moment: str | None) -> float | None:
    """Return a recorded time as seconds since 1970; None for one that cannot be read."""
    try:
        return None if moment is None else datetime.fromisoformat(moment).timestamp()
    except (ValueError, OverflowError):
        return None


def _first_line(change: FileChange) -> int | None:
    """Return the number of the first line of a change that is a whole new text; None where the place is not known."""
    is_whole = change.action != "edit" and all(line.startswith("+") for line in change.lines)
    return 1 if is_whole else None
