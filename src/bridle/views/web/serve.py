"""The server of the web page: bound to loopback, with limits on what a client can make it hold."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.errors import UsageError
from bridle.views.run_data.board import Board
from bridle.wire.mask import Mask, secret_values

if TYPE_CHECKING:
    import uvicorn

    from bridle.views.web.guard import Guard

ADDRESS = "127.0.0.1"
PORT = 8421
# Ports that are tried after the usual one: more servers than this are a mistake.
_PORTS_TRIED = 50
# Open connections: each page has one for its stream and a few for a moment.
CONNECTIONS = 200
_KEEP_ALIVE_SECONDS = 15
_SHUTDOWN_SECONDS = 2
_HEADER_BYTES = 32 * 1024
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Site(Struct, frozen=True):
    """What a server shows, and how it acts."""

    top: Path
    runs: Callable[[], list[Path]]
    token: str
    environment: Mapping[str, str]


def bind(port: int | None) -> socket.socket:
    """Return a socket on loopback: on the named port, else on the usual one or the next that is free."""
    wanted = [port] if port is not None else range(PORT, PORT + _PORTS_TRIED)
    for number in wanted:
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((ADDRESS, number))
            listener.listen(CONNECTIONS)  # now: only a port on which a server listens is taken for others
        except OSError:
            listener.close()
            continue
        return listener
    raise UsageError(
        f"the port {port} is taken" if port is not None else f"the ports from {PORT} on are taken",
        remedy="Pass another one with --port; 0 takes any that is free.",
    )


async def serve(site: Site, listener: socket.socket) -> None:
    """Serve until a signal."""
    import uvicorn

    from bridle.views.web.connection_limits import LimitedConnection

    app = _guarded_app(site, listener.getsockname()[1], lambda: server.should_exit)
    config = uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
    )
    server = uvicorn.Server(config)
    await _serve_until_signalled(server, listener)


def _guarded_app(site: Site, port: int, is_stopping: Callable[[], bool]) -> Guard:
    """Return the application behind its checks."""
    from bridle.views.web.action_routes import ActionRoutes
    from bridle.views.web.actions import Actions
    from bridle.views.web.app import build_app
    from bridle.views.web.guard import Guard
    from bridle.views.web.log_routes import LogRoutes
    from bridle.views.web.run_routes import RunRoutes
    from bridle.views.web.shared_data import SharedData

    mask = Mask([*secret_values(os.environ), site.token])
    data = SharedData(Board(site.runs, site.environment, mask, site.top), site.environment, mask)
    actions = ActionRoutes(data, Actions(site.environment, site.top, mask))
    app = build_app(data, RunRoutes(data, site.top), LogRoutes(data), actions, is_stopping)
    return Guard(app, site.token, port, actions.record_refused)  # type: ignore[arg-type]  # ASGI


async def _serve_until_signalled(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; uvicorn itself would end the process by the signal that it got."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit, server.should_exit = server.should_exit, True

    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]  # it handles none itself
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)
    try:
        await server.serve(sockets=[listener])
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
