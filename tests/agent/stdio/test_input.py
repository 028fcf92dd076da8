"""Standard input: what a host may say, and what no line of it can do."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.conversation.conversation import merge
from bridle.agent.stdio.inbox import Inbox, Prompt, Unreadable
from bridle.agent.stdio.input import Cancelled, HostRequest, Item, listen, read_line
from bridle.wire.events.events import ControlResponse

LIMIT_SECONDS = 30.0


def line(value: Any) -> bytes:
    return json.dumps(value).encode()


def user(content: Any, **more: Any) -> bytes:
    return line({"type": "user", "message": {"role": "user", "content": content}, **more})


@pytest.mark.parametrize(
    ("data", "item"),
    [
        (user("hi"), Prompt("hi")),
        (user("hi", uuid="u-1", session_id="s"), Prompt("hi", "u-1")),
        (user([{"type": "text", "text": "hi"}]), Prompt([{"type": "text", "text": "hi"}])),
        (
            line({"type": "control_request", "request_id": "r", "request": {"subtype": "interrupt"}}),
            HostRequest("r", {"subtype": "interrupt"}),
        ),
        (
            line({"type": "control_response", "response": {"subtype": "success"}}),
            ControlResponse(response={"subtype": "success"}),
        ),
        (line({"type": "control_request", "request_id": 7, "request": {}}), HostRequest(7, {})),
        (line({"type": "control_request", "request": []}), HostRequest(None, {})),
        (line({"type": "control_cancel_request", "request_id": 7}), Cancelled(7)),
        (user("half \ud83d of one"), Prompt("half \ufffd of one")),
        (user("whole \U0001f600"), Prompt("whole \U0001f600")),
        (user("x").replace(b"x", b"\xff"), Prompt("\ufffd")),
        (line({"type": "keep_alive"}), None),
        (line({"type": "unheard-of", "x": 1}), None),
        (line({"type": 7}), None),
        (line({}), None),
        (b"", None),
        (b" \t\r", None),
        *((line(value), None) for value in (5, 1.5, "text", True, None, [1, 2])),
        *((data, None) for data in (b"1e999", b"-1e999", rb'"\ud800"', rb'["\ud800", 1e999]', b"9" * 400)),
    ],
)
def test_a_line_is_decoded(data: bytes, item: Item | None) -> None:
    assert read_line(data) == item


@pytest.mark.parametrize(
    "data",
    [
        b"{not json",
        b"[" * 100_000,
        line({"type": "user"}),
        line({"type": "user", "message": {"role": "assistant", "content": "x"}}),
        user(None),
        user(7),
        user(["text"]),
        b"NaN",
        rb'{"type": "user", "message": "\ud800"}',
        user([{"text": "no type"}]),
        line({"type": "control_request"}),
        line({"type": "control_request", "request_id": 1}),
        line({"type": "control_request", "request_id": {}, "request": {}}),
    ],
)
def test_an_invalid_line_is_unreadable_with_a_reason(data: bytes) -> None:
    item = read_line(data)
    assert isinstance(item, Unreadable)
    assert item.reason
    assert len(item.reason) < 1000


@given(st.binary(max_size=200))
def test_no_line_raises(data: bytes) -> None:
    read_line(data)


def test_a_message_whose_id_came_before_is_not_queued_again() -> None:
    inbox = Inbox(received={"old"})
    repeated: list[Prompt] = []
    inbox.on_repeated = repeated.append
    for text, uuid in (("one", "old"), ("two", "new"), ("two", "new"), ("three", None), ("three", None)):
        inbox.add_prompt(Prompt(text, uuid))
    assert [prompt.text for prompt in inbox.messages] == ["two", "three", "three"]
    assert [prompt.text for prompt in repeated] == ["one", "two"]


def read_input(data: bytes) -> Inbox:
    """An inbox after everything was read from a pipe that was closed."""

    async def hear() -> Inbox:
        inbox = Inbox()
        reading, writing = os.pipe()
        os.write(writing, data)
        os.close(writing)
        listen(inbox, asyncio.get_running_loop(), descriptor=reading)
        async with asyncio.timeout(LIMIT_SECONDS):
            while not inbox.at_end:
                inbox.changed.clear()
                await inbox.changed.wait()
        os.close(reading)
        return inbox

    return asyncio.run(hear())


def test_messages_come_in_order_and_the_last_needs_no_line_end() -> None:
    inbox = read_input(user("one") + b"\n\n" + user("two") + b"\r\n" + user("three"))
    assert [prompt.content for prompt in inbox.messages] == ["one", "two", "three"]
    assert inbox.invalid is None


def test_the_first_unreadable_line_is_reported() -> None:
    inbox = read_input(user("one") + b"\n{first\n{second\n")
    assert inbox.invalid is not None
    assert "{first" in inbox.invalid.reason
    assert [prompt.content for prompt in inbox.messages] == ["one"]


def test_queued_messages_are_merged() -> None:
    assert merge([Prompt("a", "1"), Prompt("b", "2")]) == Prompt("a\nb", "2")
    block = {"type": "text", "text": "b"}
    assert merge([Prompt("a"), Prompt([block])]).content == [{"type": "text", "text": "a"}, block]
    assert merge([Prompt("a", "1")]) == Prompt("a", "1")
