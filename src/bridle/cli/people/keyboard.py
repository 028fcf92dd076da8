"""Single keys of the person at the terminal, while something else is going on."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# A person presses one key at a time; what is pasted by mistake is read away.
_READ_BYTES = 1024


@contextmanager
def keys(on_key: Callable[[str], None]) -> Iterator[bool]:
    """Hand over each key while the block lasts; gives whether there is anybody who could press one.

    Ctrl-C and Ctrl-Z stay what they are. A program in the background reads nothing and changes nothing.
    """
    fd = _terminal()
    if fd is None:
        yield False
        return
    import termios
    import tty

    before = termios.tcgetattr(fd)
    loop = asyncio.get_running_loop()

    def read() -> None:
        pressed = os.read(fd, _READ_BYTES)
        if not pressed:  # the terminal is gone
            loop.remove_reader(fd)
        for key in pressed.decode("utf-8", "replace"):
            on_key(key)

    tty.setcbreak(fd, termios.TCSANOW)
    loop.add_reader(fd, read)
    try:
        yield True
    finally:
        loop.remove_reader(fd)
        termios.tcsetattr(fd, termios.TCSANOW, before)


def _terminal() -> int | None:
    """The terminal that keys come from, where it is ours to read."""
    try:
        fd = sys.stdin.fileno()
        return fd if os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp() else None
    except (OSError, ValueError):
        return None
