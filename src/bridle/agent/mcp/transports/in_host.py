"""A server that runs inside the host: messages travel in control requests `mcp_message`."""

from __future__ import annotations

from bridle.agent.control.host_requests import HostRequests
from bridle.agent.mcp.transports.transport import JsonObject, Receiver
from bridle.errors import HostFailure, ServerFailure


class HostTransport:
    """Sends each message to the host; the response carries the server's answer."""

    def __init__(self, server: str, host: HostRequests | None) -> None:
        self._server, self._host = server, host
        self._receiver: Receiver | None = None

    async def open(self, receiver: Receiver) -> None:
        """Note the receiver. Raises ServerFailure without a host."""
        if self._host is None:
            raise ServerFailure("a server of type sdk needs a host, and this run has no host")
        self._receiver = receiver

    async def send(self, message: JsonObject) -> None:
        """Send a message and deliver the answer of the server."""
        if self._host is None or self._receiver is None:
            raise ServerFailure("a server of type sdk needs a host, and this run has no host")
        request = {"subtype": "mcp_message", "server_name": self._server, "message": message}
        try:
            answer = (await self._host.send(request)).get("mcp_response")
        except HostFailure as failure:
            raise ServerFailure(failure.message) from failure
        if "id" not in message or "method" not in message:
            return
        if not isinstance(answer, dict):
            raise ServerFailure("the host sent no answer of the server")
        self._receiver.receive({**answer, "id": message["id"]})  # a control response answers one message

    async def ready(self, protocol_version: str) -> None:
        """Do nothing: the host has no session."""

    async def close(self) -> None:
        """Do nothing: the server ends with the host."""
