"""An event loop that refuses everything by which the world outside could come in.

Each refusal names the way to do the same through `ctx`, so that it happens once and is recorded.
"""

from __future__ import annotations

import asyncio
from typing import Any

from bridle.engine.replay import audit_fence

CLOCK = "asyncio.sleep, wait_for and timeout cannot be used"
CLOCK_WAY = (
    "Await ctx.sleep_until(…). For a time limit: "
    "asyncio.wait({work, ctx.sleep_until(…)}, return_when=asyncio.FIRST_COMPLETED). The time is ctx.now()."
)
SIGNAL_WAY = "Ask a person with ctx.breakpoint(…), or end the run with ctx.halt(…)."
END_WAY = "Await what you wait for; the run ends when the process returns."
SOCKET = "a socket cannot be used"


def _refused(what: str, way: str) -> Any:
    def refuse(*_arguments: object, **_options: object) -> object:
        raise audit_fence.refusal(what, way)

    return refuse


class RefusingLoop(asyncio.AbstractEventLoop):
    """What asyncio asks of a loop and no replay could repeat."""

    time = _refused(CLOCK, CLOCK_WAY)
    call_at = _refused(CLOCK, CLOCK_WAY)
    call_later = _refused(CLOCK, CLOCK_WAY)
    run_in_executor = _refused("a thread cannot be started", audit_fence.PYTHON_WAY)
    call_soon_threadsafe = _refused("another thread cannot be waited for", audit_fence.PYTHON_WAY)
    set_default_executor = _refused("a thread cannot be started", audit_fence.PYTHON_WAY)
    shutdown_default_executor = _refused("the loop cannot be ended", END_WAY)
    shutdown_asyncgens = _refused("the loop cannot be ended", END_WAY)
    run_forever = _refused("the loop cannot be run again", END_WAY)
    run_until_complete = _refused("the loop cannot be run again", END_WAY)
    stop = _refused("the loop cannot be ended", END_WAY)
    close = _refused("the loop cannot be ended", END_WAY)
    subprocess_exec = _refused("another program cannot be started", audit_fence.SHELL_WAY)
    subprocess_shell = _refused("another program cannot be started", audit_fence.SHELL_WAY)
    connect_read_pipe = _refused("a pipe cannot be read", audit_fence.SHELL_WAY)
    connect_write_pipe = _refused("a pipe cannot be written", audit_fence.SHELL_WAY)
    add_signal_handler = _refused("a signal cannot be waited for", SIGNAL_WAY)
    remove_signal_handler = _refused("a signal cannot be waited for", SIGNAL_WAY)
    set_task_factory = _refused("tasks of another make cannot be used", "Leave the loop's task factory alone.")
    set_exception_handler = _refused("errors cannot be caught by the loop", "Catch them with try and except.")
    set_debug = _refused("asyncio's debug mode cannot be used", "Leave it off; it looks at the clock.")
    add_reader = _refused(SOCKET, audit_fence.PYTHON_WAY)
    add_writer = _refused(SOCKET, audit_fence.PYTHON_WAY)
    connect_accepted_socket = _refused(SOCKET, audit_fence.PYTHON_WAY)
    create_connection = _refused(SOCKET, audit_fence.PYTHON_WAY)
    create_datagram_endpoint = _refused(SOCKET, audit_fence.PYTHON_WAY)
    create_server = _refused(SOCKET, audit_fence.PYTHON_WAY)
    create_unix_connection = _refused(SOCKET, audit_fence.PYTHON_WAY)
    create_unix_server = _refused(SOCKET, audit_fence.PYTHON_WAY)
    getaddrinfo = _refused(SOCKET, audit_fence.PYTHON_WAY)
    getnameinfo = _refused(SOCKET, audit_fence.PYTHON_WAY)
    remove_reader = _refused(SOCKET, audit_fence.PYTHON_WAY)
    remove_writer = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sendfile = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_accept = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_connect = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_recv = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_recv_into = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_recvfrom = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_recvfrom_into = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_sendall = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_sendfile = _refused(SOCKET, audit_fence.PYTHON_WAY)
    sock_sendto = _refused(SOCKET, audit_fence.PYTHON_WAY)
    start_tls = _refused(SOCKET, audit_fence.PYTHON_WAY)
