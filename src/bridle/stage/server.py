"""The stage itself: a server on loopback that plays a script to whoever asks."""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from bridle.errors import DiskError, InternalError, UsageError
from bridle.stage.http import Connection, Limits, Received
from bridle.stage.recording import KEPT_REQUESTS, Recording, Request, masked
from bridle.stage.refusal import Refusal, refusal
from bridle.stage.reply import refusal_steps
from bridle.stage.routes import Decision, Desk
from bridle.stage.script import Script

DEFAULT_HOST = "127.0.0.1"


class Stage:
    """A running script: `async with Stage(script) as stage`, then `stage.url`."""

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        host: str = DEFAULT_HOST,
        record: Path | None = None,
        report: Callable[[str], None] | None = None,
        limits: Limits | None = None,
        kept_requests: int = KEPT_REQUESTS,
    ) -> None:
        self._address = (loopback(host), port)
        self._desk = Desk(script, token=secrets.token_hex(5))
        self._record = record
        self._report = report
        self._limits = limits or Limits()
        self._kept = kept_requests
        self._recording = Recording(kept=kept_requests, path=None)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._number = 0
        self._broken: asyncio.Future[DiskError] | None = None

    async def __aenter__(self) -> Self:
        self._recording = Recording(kept=self._kept, path=self._record)
        self._broken = asyncio.get_running_loop().create_future()
        host, port = self._address
        try:
            self._server = await asyncio.start_server(self._accept, host, port)
        except (OSError, OverflowError) as error:
            self._recording.close()
            raise UsageError(f"cannot listen on {host} port {port}: {error}") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._broken is not None:
            self._broken.cancel()
        self._recording.close()

    @property
    def port(self) -> int:
        """Return the port on which the stage listens."""
        if self._server is None or not self._server.sockets:
            raise InternalError("the stage has no port: it is not running")
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """Return the base URL to give to a client."""
        host = self._address[0]
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Return the requests so far, oldest first."""
        return self._recording.requests

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what went wrong so far: an exhausted script, a missing value, what was not HTTP."""
        return self._recording.problems

    async def broken(self) -> DiskError:
        """Wait until the stage cannot go on, and return the reason; for ever if all is well."""
        if self._broken is None:
            raise InternalError("the stage cannot be waited for: it is not running")
        return await asyncio.shield(self._broken)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(Connection(reader, writer, self._limits)))
        self._connections.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Forget a connection; an error that nothing foresaw is told, and the others are served on."""
        self._connections.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._say_problem(f"a connection ended by an error of the stage itself: {error!r}")

    async def _serve(self, connection: Connection) -> None:
        """Answer one client until it leaves."""
        try:
            while await self._exchange(connection):
                pass
        except (ConnectionError, TimeoutError):
            # The client has gone, or reads nothing any more: there is nobody to tell.
            return
        finally:
            await connection.close()

    async def _exchange(self, connection: Connection) -> bool:
        """Take one request and answer it; tell whether another can follow."""
        received = await connection.receive()
        if received is None:
            return False
        self._number += 1
        number, request_id = self._number, self._desk.request_id(self._number)
        if isinstance(received, Refusal):
            self._say_problem(received.message)
            await connection.refuse(refusal_steps(received, request_id))
            return False
        decision = self._desk.decide(received, number)
        if not self._note(received, decision, number):
            decision = Decision(refusal_steps(refusal(500, message="the record cannot be written"), request_id))
        return await connection.perform(decision.steps)

    def _note(self, received: Received, decision: Decision, number: int) -> bool:
        """Record a request before it is answered; tell whether that was possible."""
        path, _, query = received.target.partition("?")
        request = Request(
            number=number,
            time=time.time(),
            method=received.method,
            path=path,
            query=query,
            headers=masked(received.headers),
            body=decision.body,
            request_id=self._desk.request_id(number),
            answer=decision.answer,
            problem=decision.problem,
        )
        try:
            self._recording.add(request)
        except DiskError as error:
            self._say_problem(error.message)
            if self._broken is not None and not self._broken.done():
                self._broken.set_result(error)
            return False
        if request.problem is not None:
            self._say_problem(f"{request.method} {request.path}: {request.problem}")
        elif self._report is not None:
            self._report(f"{request.method} {request.path} → {request.answer or 'answered'}")
        return True

    def _say_problem(self, problem: str) -> None:
        self._recording.add_problem(problem)
        if self._report is not None:
            self._report(f"problem: {problem}")


def loopback(host: str) -> str:
    """Return the address of a loopback host; refuse any other, since the stage has no lock on its door."""
    if host == "localhost":
        return DEFAULT_HOST
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise UsageError(f"{host!r} is not an address; the stage listens on loopback, as 127.0.0.1") from error
    if not address.is_loopback:
        raise UsageError(f"{host} is not loopback; the stage listens on this machine only, as 127.0.0.1")
    return str(address)
