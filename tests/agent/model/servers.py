"""Loopback servers of a few lines, in the loop of the test: they send what the test says, byte for byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle.agent.model.api.models import resolve_model
from bridle.agent.model.api.question import Question

CERTIFICATES = Path(__file__).parent / "certificates"
AUTHORITY = CERTIFICATES / "authority.pem"
# A hang limit for a test, not a measure: loopback answers in milliseconds.
PATIENCE_SECONDS = 30.0


@dataclass
class Request:
    """One request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Which connection it came on; the first is 1."""

    @property
    def document(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class Peer:
    """The server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        self.reader = reader
        self.writer = writer
        self.number = number

    async def request(self) -> Request | None:
        """The next request; None when the client has left."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        line, *rest = head.decode("latin-1").split("\r\n")[:-2]
        headers = {name.lower(): value.strip() for name, _, value in (entry.partition(":") for entry in rest)}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Request(line, headers, body, self.number)

    async def send(self, data: bytes) -> None:
        """Send bytes."""
        self.writer.write(data)
        await self.writer.drain()

    async def left(self) -> None:
        """Wait until the client has gone."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    def reset(self) -> None:
        """End the connection the hard way."""
        self.writer.transport.abort()


@dataclass
class Server:
    """A server that is up."""

    port: int
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    """How many there were."""
    open: int = 0
    """How many there are."""

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    async def all_left(self) -> None:
        """Wait until no client is there."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.open:
                await asyncio.sleep(0.001)


Play = Callable[[Peer, Server], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(play: Play, *, tls: bool = False, host: str = "127.0.0.1") -> AsyncIterator[Server]:
    """A server that plays this for each connection."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / "server.pem", CERTIFICATES / "server.key")
        context.load_verify_locations(AUTHORITY)
        context.verify_mode = ssl.CERT_OPTIONAL  # a client may show a certificate
    server = Server(0)
    present: set[asyncio.StreamWriter] = set()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        server.open += 1
        present.add(writer)
        try:
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                await play(Peer(reader, writer, server.connections), server)
        finally:
            server.open -= 1
            present.discard(writer)
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError, TimeoutError):
                await writer.wait_closed()

    listening = await asyncio.start_server(meet, host, 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        for writer in present:  # clients that keep their connections
            writer.transport.abort()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await listening.wait_closed()


def answering(*answers: bytes) -> Play:
    """Each request gets the next of these answers, over all connections; then the connection ends."""
    left = list(answers)

    async def play(peer: Peer, server: Server) -> None:
        while left and (request := await peer.request()) is not None:
            server.requests.append(request)
            await peer.send(left.pop(0))

    return play


def ok(body: bytes, content_type: str = "application/json", **headers: str) -> bytes:
    """A good answer with a known length."""
    return status(200, body, content_type, **headers)


def status(code: int, body: bytes = b"", content_type: str = "application/json", **headers: str) -> bytes:
    """An answer with a known length."""
    named = {"content-type": content_type, "content-length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {code} X\r\n{lines}\r\n".encode() + body


def chunked(*parts: bytes, ends: bool = True, **headers: str) -> bytes:
    """A good answer in chunks; without its end it is not complete."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{lines}\r\n".encode()
    body = b"".join(f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in parts)
    return head + body + (b"0\r\n\r\n" if ends else b"")


def frame(kind: str, **fields: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def text_frames(text: str, *, output_tokens: int = 5) -> list[bytes]:
    """A whole answer that says something."""
    empty: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    return [
        frame("message_start", message=empty),
        frame("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        frame("content_block_delta", index=0, delta={"type": "text_delta", "text": text}),
        frame("content_block_stop", index=0),
        frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": output_tokens}),
        frame("message_stop"),
    ]


def message(text: str) -> bytes:
    """A whole answer in one document."""
    return json.dumps(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 3, "output_tokens": 5},
        }
    ).encode()


def question(model: str = "opus", **fields: Any) -> Question:
    """A small question."""
    messages = ({"role": "user", "content": "hello"},)
    return Question(**{"model": resolve_model(model, {}), "messages": messages, "session_id": "s-1", **fields})
