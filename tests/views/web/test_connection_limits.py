"""Connections that send no whole request, or none with the token, keep no page from its answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bridle.views.web.serve import CONNECTIONS
from tests.fixtures.bridle_program import LIMIT_SECONDS
from tests.views.web.fixtures.watch_server import WatchServer, watching

NO_TOKEN = b"GET /static/index.html HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[WatchServer]:
    with watching(tmp_path) as started:
        yield started


def connect(server: WatchServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT_SECONDS)


@pytest.mark.parametrize("sent", [b"G", NO_TOKEN])
def test_connections_without_the_token_do_not_take_all_places(server: WatchServer, sent: bytes) -> None:
    with ExitStack() as stack:
        for _ in range(CONNECTIONS + 20):
            client = stack.enter_context(connect(server))
            client.sendall(sent.replace(b"%d", str(server.port).encode()))
        assert server.request("GET", "/api/board").status == 200


def test_a_stream_is_not_closed_for_connections_without_the_token(server: WatchServer) -> None:
    with server.stream("") as events, ExitStack() as stack:
        for _ in range(CONNECTIONS + 20):
            stack.enter_context(connect(server)).sendall(b"G")
        assert server.request("GET", "/api/board").status == 200
        assert events.response.readline() == b": bridle\n"


def read_all(client: socket.socket) -> bytes:
    """Return all until the server closes the connection; fail where it does not."""
    received = bytearray()
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return bytes(received)


@pytest.mark.parametrize("before", [b"", NO_TOKEN])
def test_a_connection_without_a_whole_request_is_closed(server: WatchServer, before: bytes) -> None:
    """Also after an answer, where it would stay for the next request."""
    with connect(server) as client:
        client.sendall(before.replace(b"%d", str(server.port).encode()))
        if before:
            assert client.recv(12) == b"HTTP/1.1 200"
        client.sendall(b"G")
        read_all(client)
