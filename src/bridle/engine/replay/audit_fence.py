"""Keeps a process away from what no replay can repeat: threads, sockets and other programs.

The fence stands once for the whole interpreter and refuses only on a thread that is running a process at that moment;
everybody else, the driver beside it included, passes through.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bridle.errors import NotInProcess

SHELL_WAY = "Define a task of kind 'shell' and await ctx.task(…): it runs once and its result is recorded."
PYTHON_WAY = "Define a task of kind 'python' and await ctx.task(…): it is done once and its result is recorded."

# Events of sys.audit, by their beginning: what was tried, and the way to do it.
_REFUSED = {
    "subprocess.Popen": ("another program cannot be started", SHELL_WAY),
    "os.system": ("another program cannot be started", SHELL_WAY),
    "os.exec": ("another program cannot be started", SHELL_WAY),
    "os.fork": ("another program cannot be started", SHELL_WAY),
    "os.forkpty": ("another program cannot be started", SHELL_WAY),
    "os.posix_spawn": ("another program cannot be started", SHELL_WAY),
    "os.startfile": ("another program cannot be started", SHELL_WAY),
    "socket.__new__": ("a socket cannot be opened", PYTHON_WAY),
    "socket.getaddrinfo": ("a name cannot be looked up", PYTHON_WAY),
    "socket.gethostbyname": ("a name cannot be looked up", PYTHON_WAY),
}

_inside: set[int] = set()
_is_built = False


@contextmanager
def raised() -> Iterator[None]:
    """Refuse all that on this thread until the block ends."""
    _build_once()
    thread = threading.get_ident()
    _inside.add(thread)
    try:
        yield
    finally:
        _inside.discard(thread)


def refusal(what: str, way: str) -> NotInProcess:
    """The error for something that a process may not do itself."""
    return NotInProcess(f"{what} inside of a process: a replay could not repeat it", remedy=way)


def _build_once() -> None:
    global _is_built
    if _is_built:
        return
    _is_built = True
    sys.addaudithook(_look)
    # Python 3.11 tells no audit hook about a new thread.
    start = threading.Thread.start

    def start_outside(self: threading.Thread) -> None:
        if threading.get_ident() in _inside:
            raise refusal("a thread cannot be started", PYTHON_WAY)
        start(self)

    threading.Thread.start = start_outside  # type: ignore[method-assign]  # the only place every thread goes through


def _look(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _REFUSED and threading.get_ident() in _inside:
        raise refusal(*_REFUSED[event])
