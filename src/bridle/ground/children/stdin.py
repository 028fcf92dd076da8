"""Write to a child's standard input from the event loop, with a time limit."""

from __future__ import annotations

import asyncio
import os
from typing import IO

from bridle.errors import ProcessError

# An agent reads its input within moments even while it works.
WRITE_LIMIT_SECONDS = 30.0


class ChildInput:
    """The write end of the pipe to a child's stdin."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self._order = asyncio.Lock()
        self._waiter: asyncio.Future[None] | None = None
        os.set_blocking(pipe.fileno(), False)

    async def write(self, data: bytes, *, limit_seconds: float) -> None:
        """Write all data; on a failure raise ProcessError and close, since half a message makes the input unusable."""
        async with self._order:
            try:
                async with asyncio.timeout(limit_seconds) as timeout:
                    await self._write(memoryview(data), timeout, limit_seconds)
            except TimeoutError as error:
                self.close()
                raise ProcessError(
                    f"the child has not read its input for {limit_seconds:g} seconds",
                    remedy="The program may not expect input, or hang; stop it and read its log.",
                ) from error
            except OSError as error:
                self.close()
                raise ProcessError(
                    f"the child no longer reads its input: {error.strerror}",
                    remedy="It has exited or closed its input; see its exit code and standard error.",
                    payload=error.errno,
                ) from error
            except asyncio.CancelledError:
                self.close()
                raise

    def close(self) -> None:
        """Close the pipe; a write in progress fails."""
        if self._pipe.closed:
            return
        if self._waiter is not None and not self._waiter.done():
            self._loop.remove_writer(self._pipe.fileno())
            self._waiter.set_exception(BrokenPipeError(0, "it was closed while a message was being written"))
        self._pipe.close()

    async def _write(self, view: memoryview, timeout: asyncio.Timeout, limit_seconds: float) -> None:
        while view:
            if self._pipe.closed:
                raise BrokenPipeError(0, "it is closed")
            try:
                view = view[os.write(self._pipe.fileno(), view) :]
            except BlockingIOError:
                await self._wait_writable()
                # It reads, if slowly: the limit is on the time without progress.
                timeout.reschedule(self._loop.time() + limit_seconds)

    async def _wait_writable(self) -> None:
        fd = self._pipe.fileno()
        waiter = self._waiter = self._loop.create_future()
        self._loop.add_writer(fd, _settle, waiter)
        try:
            await waiter
        finally:
            if not self._pipe.closed:
                self._loop.remove_writer(fd)


def _settle(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
