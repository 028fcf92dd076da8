"""The interface of a connection to an MCP server: messages in both directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

JsonObject: TypeAlias = dict[str, Any]
"""A JSON-RPC message."""

# A message of an MCP server: pictures and files are a few megabytes.
MESSAGE_LIMIT_BYTES = 32 * 1024 * 1024
TOO_LARGE = f"the server sent a message of more than {MESSAGE_LIMIT_BYTES // 1024 // 1024} MB"


class Receiver(Protocol):
    """What a transport delivers to."""

    def receive(self, message: Any) -> None:
        """Take one decoded message."""

    def fail_pending(self, reason: str) -> None:
        """Fail the requests that wait: the server sent something that cannot be read."""

    def lost(self, reason: str) -> None:
        """Note that the connection has ended."""


class Transport(Protocol):
    """A connection to one server."""

    async def open(self, receiver: Receiver) -> None:
        """Connect. Raises ServerFailure."""

    async def send(self, message: JsonObject) -> None:
        """Send one message. Raises ServerFailure."""

    async def ready(self, protocol_version: str) -> None:
        """Note that the session is initialized."""

    async def close(self) -> None:
        """End the connection, and the server if it is a child process."""


Note: TypeAlias = Callable[[str], None]
"""Writes a line to the debug log."""
