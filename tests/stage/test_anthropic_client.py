"""The stage as the official client sees it: a peer that nobody here wrote."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import pytest
from anthropic.types import TextBlock, ThinkingBlock, ToolUseBlock

from bridle.stage.script import load_script
from bridle.stage.server import Stage
from bridle.stage.thread import running
from tests.stage.fixtures.raw_client import PATIENCE_SECONDS

pytestmark = pytest.mark.real

USAGE = {"input_tokens": 11, "output_tokens": 22, "cache_read_input_tokens": 33, "cache_creation_input_tokens": 44}
RICH: dict[str, Any] = {
    "blocks": [
        {"type": "thinking", "thinking": "Let me think about it for a while.", "signature": "sig=="},
        {"type": "text", "text": "Grüße, here are the files: 📁"},
        {"type": "tool_use", "name": "Bash", "id": "toolu_9", "input": {"command": "ls -la", "n": [1, {"a": None}]}},
    ],
    "usage": USAGE,
    "times": "forever",
}


@contextmanager
def client_of(*answers: dict[str, Any], retries: int = 0, **fields: Any) -> Iterator[tuple[anthropic.Anthropic, Stage]]:
    """A client of a stage that plays these answers."""
    with (
        running(load_script({"answers": list(answers), **fields})) as stage,
        anthropic.Anthropic(
            base_url=stage.url, api_key="dummy", max_retries=retries, timeout=PATIENCE_SECONDS
        ) as client,
    ):
        yield client, stage


def create(client: anthropic.Anthropic, words: str = "hi") -> anthropic.types.Message:
    return client.messages.create(model="claude-x", max_tokens=10, messages=[{"role": "user", "content": words}])


def streamed(client: anthropic.Anthropic) -> anthropic.types.Message:
    messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": "hi"}]
    with client.messages.stream(model="claude-x", max_tokens=10, messages=messages) as stream:
        return stream.get_final_message()  # type: ignore[no-any-return, unused-ignore]  # generic in its output


def check_rich(message: anthropic.types.Message) -> None:
    thinking, text, use = message.content
    assert isinstance(thinking, ThinkingBlock)
    assert (thinking.thinking, thinking.signature) == ("Let me think about it for a while.", "sig==")
    assert isinstance(text, TextBlock)
    assert text.text == "Grüße, here are the files: 📁"
    assert isinstance(use, ToolUseBlock)
    assert (use.id, use.name, use.input) == ("toolu_9", "Bash", {"command": "ls -la", "n": [1, {"a": None}]})
    assert (message.stop_reason, message.model, message.role) == ("tool_use", "claude-x", "assistant")
    assert {name: getattr(message.usage, name) for name in USAGE} == USAGE


@pytest.mark.parametrize("chunk_chars", [1, 7, 1000])
def test_the_client_reads_the_same_message_streamed_and_whole(chunk_chars: int) -> None:
    with client_of(RICH | {"chunk_chars": chunk_chars}) as (client, _):
        check_rich(create(client))
        check_rich(streamed(client))


def test_the_client_sees_text_in_pieces() -> None:
    messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": "hi"}]
    with (
        client_of({"blocks": ["one two three"], "chunk_chars": 4}) as (client, _),
        client.messages.stream(model="m", max_tokens=10, messages=messages) as stream,
    ):
        assert list(stream.text_stream) == ["one ", "two ", "thre", "e"]


def test_the_client_carries_request_ids_and_generated_ids_differ() -> None:
    with client_of({"blocks": [{"type": "tool_use", "name": "A"}], "times": 2}) as (client, stage):
        first, second = create(client), create(client)
        assert [first._request_id, second._request_id] == [item.request_id for item in stage.requests]
    assert isinstance(first.content[0], ToolUseBlock)
    assert isinstance(second.content[0], ToolUseBlock)
    assert first.id != second.id
    assert first.content[0].id != second.content[0].id


def test_the_client_counts_tokens_and_lists_models() -> None:
    with client_of(RICH, models=["one", "two"]) as (client, _):
        counted = client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 40}])
        assert counted.input_tokens == 10
        assert [model.id for model in client.models.list()] == ["one", "two"]
        assert client.models.retrieve("two").id == "two"
        with pytest.raises(anthropic.NotFoundError):
            client.models.retrieve("three")


def test_the_beta_client_is_answered_as_well() -> None:
    with client_of({"blocks": ["hi"]}) as (client, stage):
        message = client.beta.messages.create(
            model="m", max_tokens=5, messages=[{"role": "user", "content": "hi"}], betas=["some-beta"]
        )
        assert message.content[0].type == "text"
        assert stage.requests[0].headers["anthropic-beta"] == "some-beta"


def test_a_rate_limit_reaches_the_client_with_its_retry_after() -> None:
    with (
        client_of({"kind": "error", "status": 429, "headers": {"retry-after": "7"}}) as (client, _),
        pytest.raises(anthropic.RateLimitError) as caught,
    ):
        create(client)
    assert caught.value.response.headers["retry-after"] == "7"


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, anthropic.BadRequestError),
        (401, anthropic.AuthenticationError),
        (403, anthropic.PermissionDeniedError),
        (404, anthropic.NotFoundError),
        (500, anthropic.InternalServerError),
        (529, anthropic.InternalServerError),
    ],
)
def test_each_status_is_the_clients_own_error(status: int, error: type[anthropic.APIStatusError]) -> None:
    with (
        client_of({"kind": "error", "status": status, "message": "told you"}) as (client, _),
        pytest.raises(error, match="told you") as caught,
    ):
        create(client)
    assert caught.value.status_code == status
    assert caught.value.request_id is not None


def test_the_client_retries_a_rate_limit_and_continues() -> None:
    limit = {"kind": "error", "status": 429, "headers": {"retry-after-ms": "1"}, "times": 2}
    with client_of(limit, {"blocks": ["ok"]}, retries=2) as (client, stage):
        assert create(client).content[0].type == "text"
        assert [item.answer for item in stage.requests] == ["answers[0]", "answers[0]", "answers[1]"]


def test_an_overload_inside_the_stream_reaches_the_client() -> None:
    with (
        client_of({"kind": "overloaded_in_stream", "blocks": ["abc"], "after_events": 4}) as (client, _),
        pytest.raises(anthropic.APIStatusError, match="Overloaded") as caught,
    ):
        streamed(client)
    assert caught.value.body is not None
    assert "overloaded_error" in str(caught.value.body)


@pytest.mark.parametrize("where", [{}, {"after_bytes": 30, "blocks": ["abc"]}])
def test_a_dropped_connection_reaches_the_client(where: dict[str, Any]) -> None:
    with client_of({"kind": "drop_connection", **where}) as (client, _), pytest.raises(anthropic.APIConnectionError):
        create(client)


def test_a_stream_that_is_cut_does_not_pass_for_a_whole_one() -> None:
    with (
        client_of({"kind": "drop_connection", "blocks": ["abc"], "after_events": 4}) as (client, _),
        pytest.raises(Exception, match="incomplete chunked read"),
    ):
        streamed(client)


def test_silence_is_a_time_out_for_the_client() -> None:
    with client_of({"kind": "hang"}) as (client, _), pytest.raises(anthropic.APITimeoutError):
        create(client.with_options(timeout=0.2))


def test_malformed_json_is_an_error_of_the_client() -> None:
    with (
        client_of({"kind": "malformed", "text": "{oops"}) as (client, _),
        pytest.raises(json.JSONDecodeError),
    ):
        create(client)


def test_an_exhausted_script_is_a_bad_request_for_the_client() -> None:
    with client_of({"blocks": ["a"]}) as (client, stage):
        create(client)
        with pytest.raises(anthropic.BadRequestError, match="script exhausted"):
            create(client)
        assert len(stage.problems) == 1


def test_a_tool_loop_uses_a_captured_id() -> None:
    script: list[dict[str, Any]] = [
        {"blocks": ["I start it.", {"type": "tool_use", "name": "start", "input": {}}]},
        {
            "when": {"tool_result_of": "start"},
            "capture": {"job": {"from": "tool_results", "pattern": "job (j-\\w+)"}},
            "blocks": [{"type": "tool_use", "name": "stop", "input": {"job": "${job}"}}],
        },
        {"when": {"tool_result_of": "stop"}, "blocks": ["Stopped ${job}."]},
    ]
    with client_of(*script) as (client, _):
        messages: list[anthropic.types.MessageParam] = [{"role": "user", "content": "do it"}]
        asked: list[object] = []
        for result in ("started job j-42", "ended", ""):
            message = client.messages.create(model="m", max_tokens=10, messages=messages)
            uses = [block for block in message.content if isinstance(block, ToolUseBlock)]
            if not uses:
                break
            asked.append(uses[0].input)
            messages += [
                {"role": "assistant", "content": message.content},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": uses[0].id, "content": result}]},
            ]
    assert asked == [{}, {"job": "j-42"}]
    assert isinstance(message.content[0], TextBlock)
    assert message.content[0].text == "Stopped j-42."


def test_many_asynchronous_clients_are_served_at_once() -> None:
    async def play() -> list[str]:
        answers = [{"blocks": ["a" * 200], "token_delay_seconds": 0.001, "times": "forever"}]
        async with (
            Stage(load_script({"answers": answers})) as stage,
            anthropic.AsyncAnthropic(base_url=stage.url, api_key="dummy", max_retries=0) as client,
        ):
            return await asyncio.gather(*(one(client) for _ in range(30)))

    async def one(client: anthropic.AsyncAnthropic) -> str:
        async with client.messages.stream(
            model="m", max_tokens=10, messages=[{"role": "user", "content": "hi"}]
        ) as stream:
            return await stream.get_final_text()

    assert asyncio.run(play()) == ["a" * 200] * 30
