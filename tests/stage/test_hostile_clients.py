"""What is not a good client: the stage survives it, says what was wrong, and serves the others."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle.stage.http import Limits
from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.stage.fixtures.raw_client import ask, open_socket, read_to_end, request_body

HELLO = load_script({"answers": [{"blocks": ["hello"], "times": "forever"}]})


def answer_to(data: bytes, limits: Limits | None = None) -> bytes:
    """What the stage says to these bytes; a good client must be served before and after."""
    with running(HELLO, limits=limits) as stage, open_socket(stage.port) as sock:
        assert ask(stage.port).status == 200
        try:
            sock.sendall(data)
            sock.shutdown(1)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = read_to_end(sock)
        assert ask(stage.port).status == 200
    return answer


def error_in(answer: bytes) -> tuple[int, str]:
    """Status and type of an error in the API's shape."""
    head, _, body = answer.partition(b"\r\n\r\n")
    document = json.loads(body)
    assert document["type"] == "error"
    assert f"request-id: {document['request_id']}".encode() in head
    return int(head.split()[1]), document["error"]["type"]


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"hello?\r\n\r\n",
        b"GET / FTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_garbage_is_refused_in_the_shape_of_the_api(data: bytes) -> None:
    assert error_in(answer_to(data)) == (400, "invalid_request_error")


def test_garbage_is_a_problem_that_can_be_read() -> None:
    with running(HELLO) as stage, open_socket(stage.port) as sock:
        sock.sendall(b"hello?\r\n\r\n")
        read_to_end(sock)
        assert "not an HTTP request" in stage.problems[0]


def test_a_client_that_leaves_during_a_refusal_is_no_error_of_the_stage() -> None:
    with running(HELLO) as stage:
        for _ in range(30):  # it may leave before or after our last step
            with open_socket(stage.port) as sock:
                sock.sendall(b"hello?\r\n\r\n")
                sock.recv(300)
        assert ask(stage.port).status == 200
    assert [problem for problem in stage.problems if "not an HTTP request" not in problem] == []


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://[", "http://127.0.0.1.evil.example"])
def test_a_web_page_from_elsewhere_cannot_use_up_the_script(origin: str) -> None:
    asked = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}'
    head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: {origin}\r\nContent-Length: {len(asked)}\r\n\r\n"
    assert error_in(answer_to(head.encode() + asked)) == (403, "permission_error")


def test_a_web_page_of_this_machine_is_served() -> None:
    data = b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://localhost:3000\r\nConnection: close\r\n\r\n"
    assert answer_to(data).startswith(b"HTTP/1.1 200")


def test_huge_headers_are_refused() -> None:
    head = b"GET / HTTP/1.1\r\nHost: x\r\nX-Big: "
    assert error_in(answer_to(head + b"a" * 1_000_000)) == (431, "invalid_request_error")


def test_a_huge_body_is_refused_by_its_announcement() -> None:
    answer = answer_to(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nabc")
    assert error_in(answer) == (413, "request_too_large")


def test_a_huge_body_is_refused_while_it_arrives() -> None:
    chunk = b"%x\r\n" % 1_000_000 + b"a" * 1_000_000 + b"\r\n"
    head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = answer_to(head + chunk * 4, Limits(body_bytes=2_000_000))
    assert error_in(answer) == (413, "request_too_large")


def test_a_body_at_the_limit_is_taken() -> None:
    body = request_body("x")
    body += b" " * (200_000 - len(body))
    head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert b"hello" in answer_to(head + body, Limits(body_bytes=len(body)))


def test_half_requests_do_not_keep_others_waiting() -> None:
    with running(HELLO) as stage:
        half = [open_socket(stage.port) for _ in range(100)]
        for sock in half:
            sock.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Le")
        assert ask(stage.port).texts() == ["hello"]
        for sock in half:
            sock.close()
        assert ask(stage.port).texts() == ["hello"]


def test_a_half_request_is_ended_when_its_time_is_over() -> None:
    with running(HELLO, limits=Limits(request_seconds=0.05)) as stage, open_socket(stage.port) as sock:
        sock.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
        assert error_in(read_to_end(sock)) == (408, "timeout_error")


def test_an_idle_connection_is_closed_without_a_response() -> None:
    with running(HELLO, limits=Limits(idle_seconds=0.05)) as stage, open_socket(stage.port) as sock:
        assert read_to_end(sock) == b""
        assert stage.problems == ()


def test_a_client_that_disconnects_during_an_answer_does_not_affect_others() -> None:
    script = load_script({"answers": [{"blocks": ["x" * 2_000_000], "times": "forever"}]})
    with running(script) as stage:
        body = request_body(stream=True)
        for _ in range(5):
            with open_socket(stage.port) as sock:
                sock.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                sock.recv(1000)
        assert ask(stage.port).status == 200
        assert stage.problems == ()


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_reach_an_error_of_our_own(data: bytes) -> None:
    with running(HELLO) as stage:
        for prefix in (b"", b"POST /v1/messages HTTP/1.1\r\nHost: x\r\n", b"GET /"):
            with open_socket(stage.port) as sock:
                sock.sendall(prefix + data)
                sock.shutdown(1)
                read_to_end(sock)
        assert not [problem for problem in stage.problems if "stage itself" in problem]
        assert ask(stage.port).status == 200


def test_the_stage_leaves_no_descriptor_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        answer_to(b"garbage\r\n\r\n")
    assert len(os.listdir("/proc/self/fd")) == before
