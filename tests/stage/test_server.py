"""The stage as a plain HTTP client sees it."""

from __future__ import annotations

import asyncio
import http.client
import json
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from bridle.errors import DiskError, InternalError, UsageError
from bridle.stage.script import load_script
from bridle.stage.server import Stage, loopback
from bridle.stage.thread import running
from tests.stage.fixtures.raw_client import PATIENCE_SECONDS, ask, call, open_socket, read, read_to_end, request_body

HELLO = load_script({"answers": [{"blocks": ["hello"], "times": "forever"}]})


def playing(*answers: dict[str, Any], **fields: Any) -> Any:
    """A running stage with these answers."""
    return running(load_script({"answers": list(answers), **fields}))


def test_the_root_answers_head_and_get() -> None:
    with running(HELLO) as stage:
        head, result = call(stage.port, "HEAD", "/"), call(stage.port, "GET", "/")
        assert stage.problems == ()
    assert (head.status, head.body) == (200, b"")
    assert result.json() == {"name": "bridle stage"}
    assert head.headers["content-length"] == str(len(result.body))


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages?beta=true"])
def test_a_message_is_one_json_document_without_stream(path: str) -> None:
    usage = {"input_tokens": 5, "output_tokens": 6, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 8}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        "text",
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}, "id": "toolu_1"},
        {"type": "raw", "block": {"type": "redacted_thinking", "data": "xx"}},
    ]
    with playing({"blocks": blocks, "usage": usage, "id": "msg_1"}) as stage:
        document = call(stage.port, "POST", path, request_body("hi")).json()
    assert document == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "some-model",
        "content": [blocks[0], {"type": "text", "text": "text"}, blocks[2], blocks[3]["block"]],  # type: ignore[index]  # a dict
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": usage
        | {
            "cache_creation": {"ephemeral_5m_input_tokens": 8, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        },
    }


def test_a_stream_has_the_events_of_the_api_in_their_order() -> None:
    blocks = [
        {"type": "thinking", "thinking": "think", "signature": "sig"},
        "ab",
        {"type": "tool_use", "name": "Bash", "input": {"a": 1}, "id": "toolu_1"},
        {"type": "raw", "block": {"type": "redacted_thinking", "data": "xx"}},
    ]
    with playing({"blocks": blocks, "chunk_chars": 3, "usage": {"input_tokens": 9, "output_tokens": 4}}) as stage:
        reply = ask(stage.port, stream=True)
    events = reply.events()
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    start = events[0]["message"]
    assert (start["content"], start["stop_reason"]) == ([], None)
    assert (start["usage"]["input_tokens"], start["usage"]["output_tokens"]) == (9, 1)
    assert events[1:] == [
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""},
        },
        {"type": "ping"},
        *(delta(0, {"type": "thinking_delta", "thinking": piece}) for piece in ("thi", "nk")),
        delta(0, {"type": "signature_delta", "signature": "sig"}),
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        delta(1, {"type": "text_delta", "text": "ab"}),
        {"type": "content_block_stop", "index": 1},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
        },
        *(delta(2, {"type": "input_json_delta", "partial_json": piece}) for piece in ("", '{"a', '":1', "}")),
        {"type": "content_block_stop", "index": 2},
        {"type": "content_block_start", "index": 3, "content_block": {"type": "redacted_thinking", "data": "xx"}},
        {"type": "content_block_stop", "index": 3},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use", "stop_sequence": None},
            "usage": {
                "input_tokens": 9,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 4,
            },
        },
        {"type": "message_stop"},
    ]


def delta(index: int, value: dict[str, str]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": value}


def test_a_truncated_tool_input_is_streamed_unchanged() -> None:
    with playing({"blocks": [{"type": "tool_use", "name": "B", "raw_input": '{"a": "b'}]}) as stage:
        events = ask(stage.port, stream=True).events()
    pieces = [event["delta"]["partial_json"] for event in events if event["type"] == "content_block_delta"]
    assert "".join(pieces) == '{"a": "b'


def test_slow_tokens_arrive_whole() -> None:
    with playing({"blocks": ["abc"], "chunk_chars": 1, "token_delay_seconds": 0.01, "delay_seconds": 0.01}) as stage:
        events = ask(stage.port, stream=True).events()
    assert [event["delta"]["text"] for event in events if event["type"] == "content_block_delta"] == ["a", "b", "c"]


def test_lone_surrogates_of_a_client_are_sent_back_unchanged() -> None:
    capture = {"it": {"from": "last_user", "pattern": "(.+)"}}
    with playing({"blocks": ["é ${it}"], "capture": capture}) as stage:
        body = request_body().replace(b'"hi"', b'"\\ud83d"')
        assert call(stage.port, "POST", "/v1/messages", body).texts() == ["é \ud83d"]


def test_system_messages_inside_the_conversation_are_accepted() -> None:
    with running(HELLO) as stage:
        assert ask(stage.port, "hi", {"role": "system", "content": "a list of skills"}).status == 200


def test_tokens_are_counted_without_using_an_answer() -> None:
    with playing({"blocks": ["one"]}) as stage:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x" * 400}]}).encode()
        counted = call(stage.port, "POST", "/v1/messages/count_tokens", body)
        assert counted.json() == {"input_tokens": 100}
        assert ask(stage.port).texts() == ["one"]


def test_models_are_listed_and_found() -> None:
    with playing({"blocks": []}, models=["a/b", "c"]) as stage:
        page = call(stage.port, "GET", "/v1/models?limit=20").json()
        card = call(stage.port, "GET", "/v1/models/a%2Fb").json()
        missing = call(stage.port, "GET", "/v1/models/d")
    assert [item["id"] for item in page["data"]] == ["a/b", "c"]
    assert (page["first_id"], page["last_id"], page["has_more"]) == ("a/b", "c", False)
    assert card == page["data"][0]
    assert (missing.status, missing.json()["error"]["type"]) == (404, "not_found_error")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/v1/messages"), ("POST", "/"), ("DELETE", "/v1/models"), ("GET", "/x")]
)
def test_anything_else_is_not_found_in_the_shape_of_the_api(method: str, path: str) -> None:
    with running(HELLO) as stage:
        reply = call(stage.port, method, path)
    assert reply.status == 404
    assert reply.json()["type"] == "error"
    assert reply.json()["error"]["type"] == "not_found_error"
    assert reply.json()["request_id"] == reply.headers["request-id"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe\xfa", "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"model": NaN}', "not valid JSON"),
        (b'{"model": "m", "max_tokens": 1}', "messages: Field required"),
        (b'{"messages": [], "max_tokens": 1}', "model: Field required"),
        (b'{"model": "m", "messages": []}', "max_tokens: Field required"),
        (request_body(max_tokens=True), "max_tokens"),
        (request_body(model=5), "model"),
        (request_body(stream="yes"), "stream"),
        (request_body(system=5), "system"),
        (request_body(tools=[1]), "tools"),
        (request_body(messages=[]), "messages: "),
        (request_body(messages=[5]), "messages.0: "),
        (request_body({"role": "robot", "content": ""}), "messages.0.role"),
        (request_body("a", {"role": "user"}), "messages.1.content"),
        (b'{"a":' * 5000 + b"1" + b"}" * 5000, "nested too deeply"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested too deeply"),
    ],
)
def test_a_bad_body_is_refused_in_the_shape_of_the_api(body: bytes, words: str) -> None:
    with running(HELLO) as stage:
        reply = call(stage.port, "POST", "/v1/messages", body)
        assert ask(stage.port).status == 200
    assert reply.status == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert words in reply.json()["error"]["message"]


DEEP: Any = {"type": "text", "text": "x"}
for _ in range(200):
    DEEP = {"type": "x", "content": [DEEP]}


@pytest.mark.parametrize("place", [0, 5, 20, 39])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ({"role": "robot", "content": "x"}, "messages.{}.role"),
        ({"role": "user", "content": [1]}, "messages.{}.content"),
        ({"role": "user", "content": [DEEP]}, "nested too deeply"),
    ],
)
def test_a_longer_request_of_a_checked_conversation_is_checked_where_it_differs(
    place: int, fault: dict[str, Any], words: str
) -> None:
    said: list[Any] = [f"word {number}" for number in range(40)]
    with playing({"blocks": ["ok"], "times": "forever"}) as stage:
        assert ask(stage.port, *said[:30]).status == ask(stage.port, *said).status == 200
        reply = ask(stage.port, *said[:place], fault, *said[place + 1 :])
        assert ask(stage.port, *said, "and more").status == 200
    assert reply.status == 400
    assert words.format(place) in reply.json()["error"]["message"]


def test_an_error_has_its_status_type_message_and_headers() -> None:
    with playing(
        {
            "kind": "error",
            "status": 429,
            "headers": {"Retry-After": "3", "anthropic-ratelimit-requests-remaining": "0"},
        },
        {"kind": "error", "status": 418, "type": "teapot_error", "message": "short and stout"},
    ) as stage:
        first, second = ask(stage.port), ask(stage.port, stream=True)
    assert (first.status, first.json()["error"]["type"]) == (429, "rate_limit_error")
    assert (first.headers["retry-after"], first.headers["anthropic-ratelimit-requests-remaining"]) == ("3", "0")
    assert second.json()["error"] == {"type": "teapot_error", "message": "short and stout"}


def test_an_overload_is_inside_the_stream_after_that_many_events() -> None:
    with playing({"kind": "overloaded_in_stream", "blocks": ["a"], "after_events": 3, "times": 2}) as stage:
        events, plain = ask(stage.port, stream=True).events(), ask(stage.port)
    assert [event["type"] for event in events] == ["message_start", "content_block_start", "ping", "error"]
    assert events[-1]["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert (plain.status, plain.json()["error"]["type"]) == (529, "overloaded_error")


def test_a_connection_is_dropped_before_the_headers() -> None:
    with playing({"kind": "drop_connection"}) as stage, pytest.raises(http.client.RemoteDisconnected):
        ask(stage.port)


@pytest.mark.parametrize("stream", [True, False])
def test_a_connection_is_dropped_after_so_many_bytes_of_the_body(stream: bool) -> None:
    with (
        playing({"kind": "drop_connection", "blocks": ["abc"], "after_bytes": 9}) as stage,
        pytest.raises(http.client.IncompleteRead) as caught,
    ):
        ask(stage.port, stream=stream)
    assert caught.value.partial == (b"event: me" if stream else b'{"id":"ms')


def test_a_connection_is_dropped_after_so_many_events() -> None:
    with (
        playing({"kind": "drop_connection", "blocks": ["abc"], "after_events": 2}) as stage,
        pytest.raises(http.client.IncompleteRead) as caught,
    ):
        ask(stage.port, stream=True)
    assert caught.value.partial.count(b"\n\n") == 2
    assert b"content_block_start" in caught.value.partial


def test_silence_ends_when_its_time_is_over() -> None:
    with playing({"kind": "hang", "seconds": 0.05}) as stage, pytest.raises(http.client.RemoteDisconnected):
        ask(stage.port)


def test_silence_in_the_middle_of_a_stream_follows_the_events() -> None:
    with playing({"kind": "hang", "blocks": ["abc"], "after_events": 1}) as stage, open_socket(stage.port) as sock:
        body = request_body(stream=True)
        sock.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        data = b""
        while b"message_start" not in data or not data.endswith(b"\r\n"):
            part = sock.recv(65536)
            assert part, data
            data += part
        assert b"content_block_start" not in data
        sock.shutdown(1)
        assert read_to_end(sock) == b""


def test_a_stage_ends_while_a_client_still_hangs() -> None:
    with playing({"kind": "hang"}) as stage:
        sock = open_socket(stage.port)
        body = request_body()
        sock.sendall(b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        wait_for_requests(stage, 1)
    with sock:
        assert read_to_end(sock) == b""


def wait_for_requests(stage: Stage, count: int) -> None:
    """Poll until so many requests have come."""
    waiting = threading.Event()
    for _ in range(3000):
        if len(stage.requests) >= count:
            return
        waiting.wait(0.01)
    pytest.fail(f"only {len(stage.requests)} requests came")


def test_malformed_text_is_sent_unchanged() -> None:
    with playing(
        {"kind": "malformed", "text": "{oops", "times": 2},
        {"kind": "malformed", "text": "data: {\n\n", "blocks": ["a"], "after_events": 1},
        {"kind": "malformed", "text": "<html>", "status": 502, "content_type": "text/html"},
    ) as stage:
        plain, streamed = ask(stage.port), ask(stage.port, stream=True)
        after, page = ask(stage.port, stream=True), ask(stage.port)
    assert (plain.body, plain.headers["content-type"]) == (b"{oops", "application/json")
    assert (streamed.body, streamed.headers["content-type"]) == (b"{oops", "text/event-stream; charset=utf-8")
    assert after.body.startswith(b"event: message_start")
    assert after.body.endswith(b"}\n\ndata: {\n\n")
    assert (page.status, page.body, page.headers["content-type"]) == (502, b"<html>", "text/html")


def test_an_exhausted_script_is_an_api_error_and_a_problem() -> None:
    with playing({"blocks": ["only"]}) as stage:
        ask(stage.port)
        reply = ask(stage.port, "more please")
        requests, problems = stage.requests, stage.problems
    assert reply.status == 400
    assert "script exhausted" in reply.json()["error"]["message"]
    assert [item.answer for item in requests] == ["answers[0]", None]
    assert requests[1].problem is not None
    assert len(problems) == 1
    assert "script exhausted" in problems[0]


def test_several_requests_go_over_one_connection_even_after_errors() -> None:
    with playing({"kind": "error", "status": 500}, {"blocks": ["a"], "times": "forever"}) as stage:
        connection = http.client.HTTPConnection("127.0.0.1", stage.port, timeout=PATIENCE_SECONDS)
        connection.request("HEAD", "/")
        sock, statuses = connection.sock, [read(connection).status]
        for stream in (False, True, False):
            connection.request("POST", "/v1/messages", request_body(stream=stream))
            statuses.append(read(connection).status)
            assert connection.sock is sock
        connection.close()
    assert statuses == [200, 500, 200, 200]


def test_pipelined_requests_are_answered_in_order() -> None:
    with playing({"blocks": ["first"]}, {"blocks": ["second"]}) as stage, open_socket(stage.port) as sock:
        item = request_body()
        head = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(item)
        sock.sendall(head + b"\r\n" + item + head + b"Connection: close\r\n\r\n" + item)
        data = read_to_end(sock)
    assert data.index(b"first") < data.index(b"second")


def test_a_client_that_expects_100_continue_gets_it() -> None:
    with running(HELLO) as stage, open_socket(stage.port) as sock:
        body = request_body()
        sock.sendall(
            b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n"
            b"Content-Length: %d\r\n\r\n" % len(body)
        )
        assert sock.recv(65536).startswith(b"HTTP/1.1 100")
        sock.sendall(body)
        assert b"hello" in read_to_end(sock)


def test_every_request_is_recorded_with_its_answer_and_without_its_key(tmp_path: Path) -> None:
    file = tmp_path / "requests.ndjson"
    with running(HELLO, record=file) as stage:
        call(stage.port, "HEAD", "/")
        call(stage.port, "POST", "/v1/messages?beta=true", request_body("hi"), authorization="Bearer sk-secret")
        call(stage.port, "POST", "/v1/messages", b"{")
        requests = stage.requests
    assert [(item.method, item.path, item.query, item.answer) for item in requests] == [
        ("HEAD", "/", "", None),
        ("POST", "/v1/messages", "beta=true", "answers[0]"),
        ("POST", "/v1/messages", "", None),
    ]
    assert requests[1].body == json.loads(request_body("hi"))
    assert (requests[1].headers["x-api-key"], requests[1].headers["authorization"]) == ("[masked]", "[masked]")
    assert requests[2].problem is not None
    text = file.read_text()
    assert "sk-secret" not in text
    assert [json.loads(line)["number"] for line in text.splitlines()] == [1, 2, 3]
    assert json.loads(text.splitlines()[1])["body"] == requests[1].body
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_record_is_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "requests.ndjson"
    for _ in range(2):
        with running(HELLO, record=file) as stage:
            call(stage.port, "GET", "/")
    assert len(file.read_text().splitlines()) == 2


def test_a_record_that_cannot_be_opened_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot record"), running(HELLO, record=tmp_path / "no" / "file"):
        pytest.fail("it started")


def test_a_full_disk_is_reported_to_the_client_and_the_owner() -> None:
    async def play() -> DiskError:
        async with Stage(HELLO, record=Path("/dev/full")) as stage:
            reply = await asyncio.to_thread(ask, stage.port)
            assert reply.status == 500
            assert "cannot record" in stage.problems[0]
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await stage.wait_for_failure()

    assert "No space left" in asyncio.run(play()).message


def test_two_conversations_at_once_each_follow_their_own_script() -> None:
    script = load_script(
        {
            "conversations": [
                {
                    "when": {"system_contains": name},
                    "answers": [{"blocks": [f"{name} {n}"], "delay_seconds": 0.001} for n in range(20)],
                }
                for name in ("parent", "child")
            ]
        }
    )
    received: dict[str, list[str]] = {"parent": [], "child": []}

    def talk(port: int, name: str) -> None:
        for _ in range(20):
            received[name] += ask(port, system=f"You are the {name}.").texts()

    with running(script) as stage:
        threads = [threading.Thread(target=talk, args=(stage.port, name)) for name in received]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
    assert received == {name: [f"{name} {n}" for n in range(20)] for name in received}


def test_a_stage_runs_inside_an_event_loop() -> None:
    async def play() -> tuple[int, int]:
        async with Stage(HELLO) as stage:
            reply = await asyncio.to_thread(ask, stage.port)
            return reply.status, len(stage.requests)

    assert asyncio.run(play()) == (200, 1)


def test_a_taken_port_is_refused() -> None:
    with running(HELLO) as stage, pytest.raises(UsageError, match=str(stage.port)), running(HELLO, port=stage.port):
        pytest.fail("two stages on one port")


def test_a_stage_that_is_not_running_has_no_url() -> None:
    with pytest.raises(InternalError, match="not running"):
        _ = Stage(HELLO).url


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.1", "example.com", "", "::"])  # noqa: S104  # refused
def test_an_address_that_others_can_reach_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="loopback"):
        Stage(HELLO, host=host)


def test_loopback_has_several_names() -> None:
    assert [loopback(host) for host in ("localhost", "127.0.0.1", "127.1.2.3", "::1")] == [
        "127.0.0.1",
        "127.0.0.1",
        "127.1.2.3",
        "::1",
    ]
