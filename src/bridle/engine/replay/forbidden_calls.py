"""The calls of an event loop that a process must not make, since a replay could not repeat them.

Each error names the alternative in `ctx`, which runs once and is recorded.
"""

from __future__ import annotations

import asyncio
from typing import Any

from bridle.engine.replay import audit_hook

CLOCK = "asyncio.sleep, wait_for and timeout cannot be used"
CLOCK_WAY = (
    "Await ctx.sleep_until(…). For a time limit: "
    "asyncio.wait({work, ctx.sleep_until(…)}, return_when=asyncio.FIRST_COMPLETED). The time is ctx.now()."
)
SIGNAL_WAY = "Ask the user with ctx.breakpoint(…), or end the run with ctx.halt(…)."
END_WAY = "Await the work; the run ends when the process returns."
SOCKET = "a socket cannot be used"


def _forbidden(failure: str, alternative: str) -> Any:
    def fail(*_arguments: object, **_options: object) -> object:
        raise audit_hook.forbidden(failure, alternative)

    return fail


class RestrictedLoop(asyncio.AbstractEventLoop):
    """An event loop whose forbidden methods raise NotInProcess."""

    time = _forbidden(CLOCK, CLOCK_WAY)
    call_at = _forbidden(CLOCK, CLOCK_WAY)
    call_later = _forbidden(CLOCK, CLOCK_WAY)
    run_in_executor = _forbidden("a thread cannot be started", audit_hook.PYTHON_WAY)
    call_soon_threadsafe = _forbidden("another thread cannot be waited for", audit_hook.PYTHON_WAY)
    set_default_executor = _forbidden("a thread cannot be started", audit_hook.PYTHON_WAY)
    shutdown_default_executor = _forbidden("the loop cannot be stopped", END_WAY)
    shutdown_asyncgens = _forbidden("the loop cannot be stopped", END_WAY)
    run_forever = _forbidden("the loop cannot be run again", END_WAY)
    run_until_complete = _forbidden("the loop cannot be run again", END_WAY)
    stop = _forbidden("the loop cannot be stopped", END_WAY)
    close = _forbidden("the loop cannot be stopped", END_WAY)
    subprocess_exec = _forbidden("another program cannot be started", audit_hook.SHELL_WAY)
    subprocess_shell = _forbidden("another program cannot be started", audit_hook.SHELL_WAY)
    connect_read_pipe = _forbidden("a pipe cannot be read", audit_hook.SHELL_WAY)
    connect_write_pipe = _forbidden("a pipe cannot be written", audit_hook.SHELL_WAY)
    add_signal_handler = _forbidden("a signal cannot be waited for", SIGNAL_WAY)
    remove_signal_handler = _forbidden("a signal cannot be waited for", SIGNAL_WAY)
    set_task_factory = _forbidden("a task factory cannot be set", "Leave the loop's task factory alone.")
    set_exception_handler = _forbidden("an exception handler cannot be set", "Catch errors with try and except.")
    set_debug = _forbidden("asyncio's debug mode cannot be used", "Leave it off; it reads the clock.")
    add_reader = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    add_writer = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    connect_accepted_socket = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    create_connection = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    create_datagram_endpoint = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    create_server = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    create_unix_connection = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    create_unix_server = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    getaddrinfo = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    getnameinfo = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    remove_reader = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    remove_writer = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sendfile = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_accept = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_connect = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_recv = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_recv_into = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_recvfrom = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_recvfrom_into = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_sendall = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_sendfile = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    sock_sendto = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
    start_tls = _forbidden(SOCKET, audit_hook.PYTHON_WAY)
