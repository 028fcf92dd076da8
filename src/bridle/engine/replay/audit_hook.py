"""Keep a process from threads, sockets and other programs, which a replay could not repeat.

The audit hook is installed once for the interpreter and applies only to threads that run a process at that moment, not
to the driver beside them.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bridle.errors import NotInProcess

SHELL_WAY = "Define a task of kind 'shell' and await ctx.task(…): it runs once and its result is recorded."
PYTHON_WAY = "Define a task of kind 'python' and await ctx.task(…): it runs once and its result is recorded."

# Events of sys.audit: what is not possible, and the alternative.
_FORBIDDEN = {
    "subprocess.Popen": ("another program cannot be started", SHELL_WAY),
    "os.system": ("another program cannot be started", SHELL_WAY),
    "os.exec": ("another program cannot be started", SHELL_WAY),
    "os.fork": ("another program cannot be started", SHELL_WAY),
    "os.forkpty": ("another program cannot be started", SHELL_WAY),
    "os.posix_spawn": ("another program cannot be started", SHELL_WAY),
    "os.startfile": ("another program cannot be started", SHELL_WAY),
    "socket.__new__": ("a socket cannot be opened", PYTHON_WAY),
    "socket.getaddrinfo": ("a host name cannot be resolved", PYTHON_WAY),
    "socket.gethostbyname": ("a host name cannot be resolved", PYTHON_WAY),
}

_process_threads: set[int] = set()
_is_installed = False


@contextmanager
def active() -> Iterator[None]:
    """Apply the audit hook to this thread inside the block."""
    _install_once()
    thread = threading.get_ident()
    _process_threads.add(thread)
    try:
        yield
    finally:
        _process_threads.discard(thread)


def forbidden(failure: str, alternative: str) -> NotInProcess:
    """Return the error for a call that a process must not make."""
    return NotInProcess(f"{failure} inside a process: a replay could not repeat it", remedy=alternative)


def _install_once() -> None:
    global _is_installed
    if _is_installed:
        return
    _is_installed = True
    sys.addaudithook(_check_event)
    # Python 3.11 has no audit event for a new thread.
    start = threading.Thread.start

    def start_checked(self: threading.Thread) -> None:
        if threading.get_ident() in _process_threads:
            raise forbidden("a thread cannot be started", PYTHON_WAY)
        start(self)

    threading.Thread.start = start_checked  # type: ignore[method-assign]  # every thread is started through it


def _check_event(event: str, _arguments: tuple[Any, ...]) -> None:
    if event in _FORBIDDEN and threading.get_ident() in _process_threads:
        raise forbidden(*_FORBIDDEN[event])
