"""An agent's log as a conversation that grows with the file: each item with the place in the log that changed it last.

A place is a byte offset: the end of the line. It is the same for every reader, whenever it began to read, so a view
that was interrupted asks for what changed after the offset that it knows. What the end of the agent changed has the
offset behind the last byte plus one.
"""

from __future__ import annotations

import os
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path

from bridle.errors import UserError
from bridle.views.log_chunks import Log, open_log
from bridle.views.run_data.log_ending import ending_of
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT, StreamDecoder, decoder_for
from bridle.wire.events.events import Event, StreamEvent
from bridle.wire.mask import Mask
from bridle.wire.record.recorder import Recorder
from bridle.wire.transcript.items import AnyItem, Call, TodoList
from bridle.wire.transcript.process_end import UNKNOWN
from bridle.wire.transcript.transcript import Transcript

# More than a card shows of one output; the log has the rest, and one item can be read whole.
SHOWN_CHARACTERS = 10_000
# The lines of one item that are remembered; a call has two, a text that is streamed has hundreds.
_KEPT_LINES = 40
# A file is read to find out whether a silent agent has ended: not at every look.
_ENDING_SECONDS = 0.5
# One step of reading: about a tenth of a second of work.
STEP_BYTES = 4 * 1024 * 1024


class FollowedLog:
    """The conversation in one log."""

    def __init__(self, path: Path, agent: str, mask: Mask, *, kept_characters: int = SHOWN_CHARACTERS) -> None:
        self.path = path
        self.agent = agent
        self.mask = mask
        self.transcript = Transcript(mask=mask, kept_characters=kept_characters)
        self.recorder = Recorder()
        self.position = 0
        """The end of the last complete line that was read."""
        self.is_running = True
        self.todos: int | None = None
        """The item with the newest to-do list."""
        self._decoder = decoder_or_default(agent)
        self._log: Log | None = None
        self._read_bytes = 0
        self._line_start = 0
        self._asked_at = 0.0
        self._changed: dict[int, int] = {}
        """The offset at which each item changed last, the item that changed last at the end."""
        self._lines: dict[int, array[int]] = {}
        """The lines that changed an item, as pairs of offsets."""

    def close(self) -> None:
        """Close the file."""
        if self._log is not None:
            self._log.__exit__()
            self._log = None

    def has_new(self) -> bool:
        """Return whether the file has bytes that were not read, or the agent has ended since."""
        if not self.is_running or self.size > self._read_bytes:
            return self.is_running
        now = time.monotonic()
        if now - self._asked_at < _ENDING_SECONDS:
            return False
        self._asked_at = now
        return not ending_of(self.path)[1]

    @property
    def was_replaced(self) -> bool:
        """Whether the file is shorter than what was read of it: another one is there."""
        return self.size < self._read_bytes

    def read_new(self, limit_bytes: int = STEP_BYTES) -> bool:
        """Read at most about so many bytes; return whether more are there."""
        if not self.is_running:
            return False
        ending, is_running = ending_of(self.path)  # asked first: what was written before the end is read
        if self._log is None and self.size == 0 and is_running:
            return False  # the file of times is there when the first byte is
        if self._log is None:
            self._log = Log(self.path, follow_links=False)
        start = self._read_bytes
        for data, at in self._log.chunks(only_timed=is_running and self._log.has_times):
            self._take(data, at)
            if self._read_bytes - start >= limit_bytes:
                return True
        if not is_running:
            end = self._read_bytes + 1
            self._note(self._add(self._decoder.end(), None), end, None)
            self._note(self.transcript.finish(ending or UNKNOWN), end, None)
            self.position, self.is_running = end, False
            self.close()
        return False

    def changed_after(self, position: int) -> list[int]:
        """Return the ids of the items that changed after an offset, in the order of their numbers."""
        found: list[int] = []
        for item_id in reversed(self._changed):
            if self._changed[item_id] <= position:
                break
            found.append(item_id)
        return sorted(found)

    def position_of(self, item_id: int) -> int:
        """Return the end of the line that changed an item last."""
        return self._changed.get(item_id, 0)

    def index_of(self, item: AnyItem) -> int:
        """Return the place of an item in its thread."""
        return bisect_left(self.transcript.item_ids(item.thread), item.id)

    def raw_lines(self, item_id: int, limit_bytes: int) -> Iterator[bytes]:
        """Yield the lines that made an item, each cut to a limit."""
        spans = self._lines.get(item_id, array("q"))
        with open_log(self.path) as file:
            for start, end in zip(spans[::2], spans[1::2], strict=True):
                file.seek(start)
                yield file.read(min(end - start, limit_bytes)).rstrip(b"\n")

    @property
    def size(self) -> int:
        """The bytes of the file now."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def _take(self, data: bytes, at: float | None) -> None:
        """Add a chunk line by line, so that each change has the end of its line."""
        start = 0
        while start < len(data):
            found = data.find(b"\n", start)
            end = len(data) if found < 0 else found + 1
            events = self._decoder.feed(data[start:end])
            self._read_bytes += end - start
            if found >= 0:
                is_delta = len(events) == 1 and isinstance(events[0], StreamEvent)
                span = None if is_delta else (self._line_start, self._read_bytes)
                self._note(self._add(events, at), self._read_bytes, span)
                self.position = self._line_start = self._read_bytes
            elif events:
                self._note(self._add(events, at), self._read_bytes, None)
            start = end

    def _add(self, events: Iterable[Event], at: float | None) -> list[int]:
        changed: list[int] = []
        for event in events:
            self.recorder.add(event)
            changed += self.transcript.add(event, at)
        return changed

    def _note(self, changed: Iterable[int], position: int, span: tuple[int, int] | None) -> None:
        for item_id in changed:
            self._changed.pop(item_id, None)
            self._changed[item_id] = position
            item = self.transcript.item(item_id) if span is not None else None
            if span is not None and item is not None:
                lines = self._lines.setdefault(item_id, array("q"))
                if len(lines) < 2 * _KEPT_LINES:
                    lines.extend(span)
                if isinstance(item, Call) and isinstance(item.detail, TodoList):
                    self.todos = item_id


def decoder_or_default(agent: str) -> StreamDecoder:
    """Return the decoder of an agent; that of the default one for an agent that is not known."""
    try:
        return decoder_for(agent)
    except UserError:
        return decoder_for(DEFAULT_AGENT)
