"""A client of a few lines for the stage's tests: plain HTTP, nothing of the stage's own code."""

from __future__ import annotations

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

# A hang limit for a test, not a measure: loopback answers in milliseconds.
PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def texts(self) -> list[str]:
        """The texts of a message."""
        return [block["text"] for block in self.json()["content"]]

    def events(self) -> list[dict[str, Any]]:
        """The data of each server-sent event; its name must be the data's type."""
        events = []
        for part in self.body.decode().split("\n\n")[:-1]:
            name, data = part.split("\n")
            event = json.loads(data.removeprefix("data: "))
            assert name == f"event: {event['type']}"
            events.append(event)
        return events


def call(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
    """Send one request on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, body, {"x-api-key": "sk-secret", **headers})
        return read(connection)
    finally:
        connection.close()


def read(connection: http.client.HTTPConnection) -> Reply:
    """Take in the answer on a connection."""
    answer = connection.getresponse()
    return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


def asking(*messages: Any, **fields: Any) -> bytes:
    """The body of a Messages request; a string is a message of the user."""
    said = [{"role": "user", "content": one} if isinstance(one, str) else one for one in messages or ("hi",)]
    return json.dumps({"model": "some-model", "max_tokens": 100, "messages": said} | fields).encode()


def ask(port: int, *messages: Any, **fields: Any) -> Reply:
    """Send one Messages request."""
    return call(port, "POST", "/v1/messages?beta=true", asking(*messages, **fields))


def opened(port: int) -> socket.socket:
    """A bare socket to the stage."""
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)


def rest(sock: socket.socket) -> bytes:
    """Everything until the server closes; nothing more if it resets."""
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except ConnectionResetError:
        pass
    return data
