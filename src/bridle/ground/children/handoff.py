"""A bounded queue of bytes from a reading thread to one reader in the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from bridle.errors import InternalError


class Handoff:
    """A bounded queue between a thread, which puts, and a coroutine, which takes all there is at once."""

    def __init__(self, *, limit_bytes: int, on_room: Callable[[], None]) -> None:
        """`on_room` is called in the event loop when a full queue has been emptied."""
        self._loop = asyncio.get_running_loop()
        self._limit_bytes = limit_bytes
        self._on_room = on_room
        self._lock = threading.Lock()
        self._chunks: list[bytes] = []
        self._size_bytes = 0
        self._is_ended = False
        self._is_abandoned = False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    @property
    def size_bytes(self) -> int:
        """The number of bytes in the queue."""
        return self._size_bytes

    @property
    def is_full(self) -> bool:
        """Whether the thread must wait before it puts more."""
        return self._size_bytes >= self._limit_bytes

    def put(self, chunks: list[bytes]) -> None:
        """Add chunks. Called in the thread."""
        with self._lock:
            if self._is_abandoned or not chunks:
                return
            self._chunks += chunks
            self._size_bytes += sum(map(len, chunks))
            self._wake()

    def fail(self, error: Exception) -> None:
        """Make the next `take` raise this error; of several the first."""
        with self._lock:
            self._error = self._error or error
            self._wake()

    def end(self) -> None:
        """Mark the end of the data."""
        with self._lock:
            self._is_ended = True
            self._wake()

    def abandon(self) -> None:
        """Drop the queue and all later data."""
        with self._lock:
            self._is_abandoned = True
            self._chunks, self._size_bytes = [], 0

    async def take(self) -> bytes | None:
        """Return all bytes in the queue; None at the end."""
        while True:
            with self._lock:
                if (error := self._error) is not None:
                    self._error = None
                    raise error
                if self._chunks:
                    chunks, self._chunks = self._chunks, []
                    was_full, self._size_bytes = self.is_full, 0
                    break
                if self._is_ended:
                    return None
                if self._waiter is not None and not self._waiter.done():
                    raise InternalError("two readers of the output of one child")
                waiter = self._waiter = self._loop.create_future()
            await waiter
        if was_full:
            self._on_room()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def _wake(self) -> None:
        """Wake the reader if it waits; once for all that is added until it runs."""
        waiter, self._waiter = self._waiter, None
        if waiter is None:
            return
        try:
            self._loop.call_soon_threadsafe(_settle, waiter)
        except RuntimeError:
            pass  # the loop is closed


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
