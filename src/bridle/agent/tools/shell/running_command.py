"""Interfaces of a running command. The implementation is imported with the first command."""

from __future__ import annotations

from typing import Protocol

import msgspec

from bridle.agent.tools.shell.output_spool import OutputSpool


class CommandEnd(msgspec.Struct, frozen=True):
    """How a command ended."""

    exit_code: int
    """As a shell reports it: 128 plus the signal number for a killed command."""
    was_reset: bool
    """Whether it left the allowed directories, so that the next command starts in the project again."""


class RunningCommand(Protocol):
    """A running command; call exactly one of `finish` and `end`."""

    @property
    def spool(self) -> OutputSpool:
        """Its output so far."""

    async def wait(self, timeout_seconds: float | None) -> bool:
        """Wait for its end; return False on timeout."""

    async def finish(self, *, moves: bool) -> CommandEnd:
        """Read the last output of an ended command and, with `moves`, the directory it ended in."""

    async def end(self) -> None:
        """End it with all its descendants, even if the caller is cancelled."""


class Leftover(Protocol):
    """An ended command that left processes running."""

    @property
    def is_over(self) -> bool:
        """Whether these have ended too."""

    async def end(self, *, grace_seconds: float) -> None:
        """End them."""

    def close(self) -> None:
        """Stop reading their output."""
