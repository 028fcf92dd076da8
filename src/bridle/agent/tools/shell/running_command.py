"""A command under way, as those see it who wait for it. Light: what starts one is loaded with the first command."""

from __future__ import annotations

from typing import Protocol

import msgspec

from bridle.agent.tools.shell.output_spool import OutputSpool


class CommandEnd(msgspec.Struct, frozen=True):
    """How a command ended."""

    exit_code: int
    """As a shell says it: 128 and the signal's number for one that was killed."""
    was_reset: bool
    """Whether it went to a folder outside the working folders, so that the next one starts in the project again."""


class RunningCommand(Protocol):
    """One command; exactly one of `finish` and `end` is called."""

    @property
    def spool(self) -> OutputSpool:
        """What it has printed so far."""

    async def wait(self, timeout_seconds: float | None) -> bool:
        """Wait for its end; False when the time is over."""

    async def finish(self, *, moves: bool) -> CommandEnd:
        """Take the last output of a command that has ended, and, with `moves`, the folder it ended in."""

    async def end(self) -> None:
        """End it with everything it has started; also when the caller is cancelled meanwhile."""


class LeftoverOutput(Protocol):
    """The output of a command that has ended, still held by something it left running."""

    @property
    def is_silent(self) -> bool:
        """Whether nothing can print to it any more."""

    def close(self) -> None:
        """Give it up."""
