"""SIGINT of the user, as opposed to a KeyboardInterrupt that a process raises itself."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class UserInterrupt:
    """Whether SIGINT has arrived while a process ran."""

    def __init__(self) -> None:
        self.has_arrived = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Notice SIGINT inside the block, and pass it on to its handler.

        Python handles signals in the main thread only: a KeyboardInterrupt in any other is one that code has raised.
        """
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is not threading.main_thread() or not callable(handler):
            yield
            return

        def receive(number: int, frame: FrameType | None) -> None:
            self.has_arrived = True
            handler(number, frame)

        signal.signal(signal.SIGINT, receive)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, handler)
