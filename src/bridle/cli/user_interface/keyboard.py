"""Single key presses at the terminal, read while an event loop runs."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from bridle.cli.user_interface.input_line import ESCAPE_KEY

# Users press one key at a time; text pasted by mistake is drained.
_READ_BYTES = 1024


@contextmanager
def keys(on_key: Callable[[str], None]) -> Iterator[bool]:
    """Pass each key to `on_key` inside the block; yield whether there is a terminal to read from.

    Ctrl-C and Ctrl-Z keep their meaning. A program in the background reads nothing and changes nothing.
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
        try:
            pressed = os.read(fd, _READ_BYTES)
        except OSError:  # a terminal that was closed
            pressed = b""
        if not pressed:  # the terminal is gone
            loop.remove_reader(fd)
        text = pressed.decode("utf-8", "replace")
        for key in (ESCAPE_KEY,) if text == "\x1b" else text:
            on_key(key)

    tty.setcbreak(fd, termios.TCSANOW)
    loop.add_reader(fd, read)
    try:
        yield True
    finally:
        loop.remove_reader(fd)
        with suppress(termios.error):  # the terminal is gone
            termios.tcsetattr(fd, termios.TCSANOW, before)


def _terminal() -> int | None:
    """Return the terminal on stdin, or None if stdin is not a terminal, or Bridle runs in the background."""
    try:
        fd = sys.stdin.fileno()
        return fd if os.isatty(fd) and os.tcgetpgrp(fd) == os.getpgrp() else None
    except (OSError, ValueError):
        return None
