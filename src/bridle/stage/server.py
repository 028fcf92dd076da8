"""The stage: a server on loopback that answers from a script."""

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
from bridle.stage.answers import Script
from bridle.stage.http import Connection, HttpRequest, Limits
from bridle.stage.recording import MAX_REQUESTS, Recording, Request, mask_headers
from bridle.stage.refusal import Refusal, refusal
from bridle.stage.reply import refusal_steps
from bridle.stage.routes import Decision, Router

DEFAULT_HOST = "127.0.0.1"


class Stage:
    """A server for one script: `async with Stage(script) as stage`, then `stage.url`."""

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        host: str = DEFAULT_HOST,
        record: Path | None = None,
        report: Callable[[str], None] | None = None,
        limits: Limits | None = None,
        kept_requests: int = MAX_REQUESTS,
    ) -> None:
        self._address = (loopback(host), port)
        self._router = Router(script, token=secrets.token_hex(5))
        self._record = record
        self._report = report
        self._limits = limits or Limits()
        self._kept = kept_requests
        self._recording = Recording(limit=kept_requests, path=None)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._number = 0
        self._failure: asyncio.Future[DiskError] | None = None

    async def __aenter__(self) -> Self:
        self._recording = Recording(limit=self._kept, path=self._record)
        self._failure = asyncio.get_running_loop().create_future()
        host, port = self._address
        try:
            self._server = await asyncio.start_server(self._accept, host, port)
        except (OSError, OverflowError) as error:
            self._recording.close()
            raise UsageError(
                f"cannot listen on {host} port {port}: {error}", remedy="Choose another port; 0 is any free one."
            ) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._failure is not None:
            self._failure.cancel()
        self._recording.close()

    @property
    def port(self) -> int:
        """The port that it listens on; raise InternalError if it is not running."""
        if self._server is None or not self._server.sockets:
            raise InternalError("the stage has no port: it is not running")
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The base URL for clients."""
        host = self._address[0]
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests so far, oldest first."""
        return self._recording.requests

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems so far: an exhausted script, a missing value, bytes that are not HTTP."""
        return self._recording.problems

    async def wait_for_failure(self) -> DiskError:
        """Wait until the stage cannot continue, and return the reason."""
        if self._failure is None:
            raise InternalError("cannot wait for the stage: it is not running")
        return await asyncio.shield(self._failure)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(Connection(reader, writer, self._limits)))
        self._connections.add(task)
        task.add_done_callback(self._on_connection_end)

    def _on_connection_end(self, task: asyncio.Task[None]) -> None:
        """Remove a connection; report an unexpected error and keep serving the others."""
        self._connections.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._report_problem(f"internal error on a connection: {error!r}")

    async def _serve(self, connection: Connection) -> None:
        """Answer one client until it disconnects."""
        try:
            while await self._exchange(connection):
                pass
        except (ConnectionError, TimeoutError):
            # The client is gone, or has stopped reading.
            return
        finally:
            await connection.close()

    async def _exchange(self, connection: Connection) -> bool:
        """Receive and answer one request; return whether another can follow."""
        received = await connection.receive()
        if received is None:
            return False
        self._number += 1
        number, request_id = self._number, self._router.request_id(self._number)
        if isinstance(received, Refusal):
            self._report_problem(received.message)
            await connection.refuse(refusal_steps(received, request_id))
            return False
        decision = self._router.reply(received, number)
        if not self._record_request(received, decision, number):
            decision = Decision(refusal_steps(refusal(500, message="the request could not be recorded"), request_id))
        return await connection.perform(decision.steps)

    def _record_request(self, received: HttpRequest, decision: Decision, number: int) -> bool:
        """Record a request before it is answered; return whether that succeeded."""
        path, _, query = received.target.partition("?")
        request = Request(
            number=number,
            time=time.time(),
            method=received.method,
            path=path,
            query=query,
            headers=mask_headers(received.headers),
            body=decision.body,
            request_id=self._router.request_id(number),
            answer=decision.answer,
            problem=decision.problem,
        )
        try:
            self._recording.add(request)
        except DiskError as error:
            self._report_problem(error.message)
            if self._failure is not None and not self._failure.done():
                self._failure.set_result(error)
            return False
        if request.problem is not None:
            self._report_problem(f"{request.method} {request.path}: {request.problem}")
        elif self._report is not None:
            self._report(f"{request.method} {request.path} → {request.answer or 'answered'}")
        return True

    def _report_problem(self, problem: str) -> None:
        self._recording.add_problem(problem)
        if self._report is not None:
            self._report(f"problem: {problem}")


def loopback(host: str) -> str:
    """Return the address of a loopback host; reject any other, since the stage has no authentication."""
    if host == "localhost":
        return DEFAULT_HOST
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise UsageError(f"the host must be a loopback address such as 127.0.0.1, got {host!r}") from error
    if not address.is_loopback:
        raise UsageError(f"the host must be a loopback address such as 127.0.0.1, got {host}")
    return str(address)
