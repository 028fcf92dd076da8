"""Runs the blocking work of a tool in a thread, and notifies it when its call is cancelled."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def run_in_thread(work: Callable[[threading.Event], _T]) -> _T:
    """Run the work in a thread. Once the event is set the call is cancelled, and the work must change nothing."""
    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(work, cancelled)
    finally:
        cancelled.set()
