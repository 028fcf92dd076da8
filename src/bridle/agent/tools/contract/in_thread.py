"""Blocking work of a tool, in a thread of its own; a cancelled call tells it to stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")


async def run_in_thread(work: Callable[[threading.Event], _T]) -> _T:
    """Do the work in a thread. The event is set when nobody waits for it any more: it must then change nothing."""
    abandoned = threading.Event()
    try:
        return await asyncio.to_thread(work, abandoned)
    finally:
        abandoned.set()
