"""An answer becomes steps; time in them is a value, so that no test has to wait."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.stage.reply import HANG_LIMIT_SECONDS, Cut, Head, RequestInfo, Send, Silence, Step, Wait, reply_steps
from bridle.stage.script import load_script
from bridle.stage.stream import MessageContext


def steps(answer: dict[str, Any], *, stream: bool = True) -> list[Step]:
    """The steps of one answer."""
    return list(
        reply_steps(
            load_script({"answers": [answer]}).answers[0],
            MessageContext("msg_1", "m", lambda: 1),
            RequestInfo("req_1", stream),
        )
    )


def kinds(done: list[Step]) -> list[str]:
    """The steps by name, a piece of the body by the type of its event."""
    return [
        step.data.split(b"\n")[0].removeprefix(b"event: ").decode() if isinstance(step, Send) else type(step).__name__
        for step in done
    ]


def test_a_delay_precedes_the_head_and_a_token_delay_each_delta() -> None:
    done = steps({"blocks": ["abcd"], "chunk_chars": 2, "delay_seconds": 3, "token_delay_seconds": 0.5})
    assert kinds(done) == [
        "Wait",
        "Head",
        "message_start",
        "content_block_start",
        "ping",
        "Wait",
        "content_block_delta",
        "Wait",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert [step for step in done if isinstance(step, Wait)] == [Wait(3), Wait(0.5), Wait(0.5)]


def test_the_searches_of_the_server_are_in_the_usage_at_the_end() -> None:
    answer = {"blocks": ["a"], "usage": {"web_search_requests": 2}}
    counted = b'"server_tool_use":{"web_search_requests":2}'
    streamed = [step.data for step in steps(answer) if isinstance(step, Send) and counted in step.data]
    assert [data.split(b"\n")[0] for data in streamed] == [b"event: message_delta"]
    assert any(counted in step.data for step in steps(answer, stream=False) if isinstance(step, Send))


@pytest.mark.parametrize(
    "answer",
    [
        {"blocks": []},
        {"kind": "error", "status": 500},
        {"kind": "overloaded_in_stream"},
        {"kind": "drop_connection"},
        {"kind": "hang"},
        {"kind": "malformed", "text": ""},
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_every_kind_can_be_delayed(answer: dict[str, Any], stream: bool) -> None:
    assert steps(answer | {"delay_seconds": 2}, stream=stream)[0] == Wait(2)


def test_silence_without_a_limit_still_ends() -> None:
    assert steps({"kind": "hang"}) == [Silence(HANG_LIMIT_SECONDS)]
    assert steps({"kind": "hang", "seconds": 0}) == [Silence(0)]


@pytest.mark.parametrize("count", range(9))
def test_a_drop_follows_exactly_that_many_events(count: int) -> None:
    whole = kinds(steps({"blocks": ["a"]}))
    dropped = steps({"kind": "drop_connection", "blocks": ["a"], "after_events": count})
    assert kinds(dropped) == [*whole[: count + 1], "Wait", "Cut"]


def test_a_drop_follows_exactly_that_many_bytes() -> None:
    whole = b"".join(step.data for step in steps({"blocks": ["abc"], "id": "m"}) if isinstance(step, Send))
    for count in (0, 1, 50, len(whole) - 1, len(whole), len(whole) + 5):
        dropped = steps({"kind": "drop_connection", "blocks": ["abc"], "id": "m", "after_bytes": count})
        assert b"".join(step.data for step in dropped if isinstance(step, Send)) == whole[:count]
        assert dropped[-1] == Cut()


@pytest.mark.parametrize(("kind", "fault"), [("drop_connection", ["Wait", "Cut"]), ("hang", ["Silence"])])
def test_without_a_stream_only_the_head_precedes_the_fault(kind: str, fault: list[str]) -> None:
    assert kinds(steps({"kind": kind, "blocks": ["a"], "after_events": 2}, stream=False)) == ["Head", *fault]


def test_a_connection_that_is_cut_before_the_headers_is_cut_at_once() -> None:
    assert kinds(steps({"kind": "drop_connection"})) == ["Cut"]


def test_headers_of_the_script_win() -> None:
    head = steps({"blocks": [], "headers": {"Request-Id": "mine", "x-more": "1"}})[0]
    assert isinstance(head, Head)
    assert dict(head.headers)["request-id"] == "mine"
    assert dict(head.headers)["x-more"] == "1"


def test_figures_that_are_not_given_are_estimated() -> None:
    body = steps({"blocks": ["a" * 400]}, stream=False)[1]
    assert isinstance(body, Send)
    assert b'"input_tokens":1,' in body.data
    assert b'"output_tokens":100,' in body.data
