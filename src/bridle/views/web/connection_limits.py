"""Limits of the connections: one that sends no whole request is closed, and those without the token are few."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from bridle.views.web.guard import IS_ALLOWED

# A browser sends the headers of a request at once.
REQUEST_SECONDS = 5.0
# Connections whose last request had no token, or that have sent none yet: a browser loads the files of a page over six.
WITHOUT_TOKEN = 50


class LimitedConnection(H11Protocol):
    """A connection of the server."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the base class
        """Wait for a request; close the oldest connection without the token where there are too many."""
        super().connection_made(transport)
        self.made_at = self.loop.time()
        self._start_timer()
        others = [known for known in self.connections if isinstance(known, LimitedConnection) and not known.has_token]
        if len(others) > WITHOUT_TOKEN:
            oldest = min(others, key=lambda known: known.made_at)
            self.connections.discard(oldest)  # now: its end is known only after all that connect at this moment
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request; from its first byte on the time for the whole of its headers is limited."""
        super().data_received(data)
        if self._is_answering:
            self._stop_timer()
        elif self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_timer()
        super().connection_lost(exc)

    @property
    def has_token(self) -> bool:
        """Whether its last request had the token."""
        scope: dict[str, Any] | None = self.scope  # type: ignore[assignment]  # none before the first request
        return scope is not None and bool(scope["state"].get(IS_ALLOWED))

    @property
    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # none before the first request
        return cycle is not None and not cycle.response_complete

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(REQUEST_SECONDS, self._close_if_waiting)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close_if_waiting(self) -> None:
        self._timer = None
        if not self._is_answering:
            self.transport.abort()
