"""Chunks of chat servers as frames of the Messages API; it does not matter where the bytes are cut."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.model.api.stream_assembly import Assembly, decode_frame
from bridle.agent.model.api.stream_pieces import AnswerFinished, AnswerPiece, BlockFinished
from bridle.agent.model.chat.chat_document import whole_message
from bridle.agent.model.chat.chat_stream import ChatAnswer, ChatReader, make_answer, messages_usage

USAGE = {"prompt_tokens": 30, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 20}}


def answer() -> ChatAnswer:
    ids = (f"new{number}" for number in range(100))
    return make_answer("m", {}, (), lambda: next(ids))


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": fields, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "served", "choices": [choice]}


def call(arguments: str, **fields: Any) -> dict[str, Any]:
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return {"tool_calls": [{"index": 0, "function": {**name, "arguments": arguments}, **fields}]}


def sse(*chunks: Any, done: bool = True) -> bytes:
    events = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([": keep-alive\n\n", *events, *(["data: [DONE]\n\n"] if done else [])]).encode()


def frames(data: bytes, *cuts: int) -> list[dict[str, Any]]:
    reader, found = ChatReader(answer()), []
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(places):
        found += reader.feed(data[start:end])
    return [*found, *reader.finish()]


def pieces(data: bytes) -> list[AnswerPiece]:
    assembly = Assembly(None)
    return [piece for frame in frames(data) for piece in assembly.add(frame, decode_frame(frame))]


def blocks(data: bytes) -> list[dict[str, Any]]:
    return [piece.block for piece in pieces(data) if isinstance(piece, BlockFinished)]


def ending(data: bytes) -> AnswerFinished:
    return next(piece for piece in pieces(data) if isinstance(piece, AnswerFinished))


WHOLE = sse(
    delta(role="assistant", content=""),
    delta(reasoning_content="Hm, "),
    delta(reasoning_content="ö…"),
    delta(content="Let me "),
    delta(content="look."),
    delta(**call("", id="a", name="Bash")),
    delta(**call('{"command"')),
    delta(**call(': "ls 🦆"}')),
    delta("tool_calls"),
    {"id": "chatcmpl-1", "choices": [], "usage": USAGE},
)


def test_thoughts_text_and_a_call_become_blocks_in_this_order() -> None:
    assert blocks(WHOLE) == [
        {"type": "thinking", "thinking": "Hm, ö…", "signature": ""},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "ls 🦆"}},
    ]
    ended = ending(WHOLE)
    assert ended.stop_reason == "tool_use"
    assert ended.usage["input_tokens"] == 10
    assert (ended.usage["cache_read_input_tokens"], ended.usage["output_tokens"]) == (20, 7)


def test_the_frames_are_those_of_a_well_formed_stream() -> None:
    found = frames(WHOLE)
    assert [frame["type"] for frame in found] == [
        "message_start",
        *("content_block_start", "content_block_delta", "content_block_delta", "content_block_stop") * 2,
        *("content_block_start", "content_block_delta", "content_block_stop"),
        *("message_delta", "message_stop"),
    ]
    assert [frame["index"] for frame in found if frame["type"] == "content_block_start"] == [0, 1, 2]
    message = found[0]["message"]
    assert (message["id"], message["model"], message["content"]) == ("chatcmpl-1", "m", [])


@given(cuts=st.lists(st.integers(min_value=0), max_size=12))
def test_any_cut_of_the_bytes_gives_the_same_frames(cuts: list[int]) -> None:
    assert frames(WHOLE, *cuts) == frames(WHOLE)


@given(cuts=st.lists(st.integers(min_value=0), max_size=12), newline=st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_any_line_ends_give_the_same_frames(cuts: list[int], newline: bytes) -> None:
    assert frames(WHOLE.replace(b"\n", newline), *cuts) == frames(WHOLE)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "delta", "message", "tool_calls", "function", "name", "arguments", "content"])
            | st.sampled_from(["index", "id", "usage", "finish_reason", "reasoning", "type", "text", "thinking"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(chunks=st.lists(st.dictionaries(st.sampled_from(["choices", "usage", "id"]), JSON), max_size=4))
def test_chunks_of_any_form_end_as_an_answer(chunks: list[Any]) -> None:
    found = frames(sse(*chunks))
    assert (found[0]["type"], found[-1]["type"]) == ("message_start", "message_stop")
    opened = [frame["index"] for frame in found if frame["type"] == "content_block_start"]
    assert opened == [frame["index"] for frame in found if frame["type"] == "content_block_stop"]


@pytest.mark.parametrize(
    ("reason", "stop_reason"),
    [
        ("stop", "end_turn"),
        ("length", "max_tokens"),
        ("tool_calls", "tool_use"),
        ("content_filter", "refusal"),
        ("eos", "end_turn"),
    ],
)
def test_the_reason_to_stop_is_translated(reason: str, stop_reason: str) -> None:
    assert ending(sse(delta(content="x"), delta(reason))).stop_reason == stop_reason


def test_a_call_is_reason_enough_to_go_on() -> None:
    assert ending(sse(delta(**call("{}", name="Bash")), delta("stop"))).stop_reason == "tool_use"
    assert ending(sse(delta(**call("{", name="Bash")), delta("length"))).stop_reason == "max_tokens"


def test_a_refusal_is_text_with_its_own_reason() -> None:
    refused = sse(delta(refusal="I will not."), delta("stop"))
    assert blocks(refused) == [{"type": "text", "text": "I will not."}]
    assert ending(refused).stop_reason == "refusal"


def test_both_names_of_thoughts_and_parts_are_read() -> None:
    assert blocks(sse(delta(reasoning="a", reasoning_content=None), delta("stop")))[0]["thinking"] == "a"
    assert blocks(sse(delta(reasoning="a", reasoning_content="a"), delta("stop")))[0]["thinking"] == "a"
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}, {"type": "text", "text": "x"}]
    assert [block["type"] for block in blocks(sse(delta("stop", content=parts)))] == ["thinking", "text"]


def test_an_answer_without_the_last_event_or_without_usage_is_complete() -> None:
    assert ending(sse(delta(content="x"), delta("stop"), done=False)).stop_reason == "end_turn"
    assert ending(sse(delta(content="x"), delta("stop"), done=False)[:-2]).stop_reason == "end_turn"
    assert ending(sse(delta(content="x"), delta("stop"))).usage == {"input_tokens": 0, "output_tokens": 0}


def test_an_answer_that_was_cut_has_no_end() -> None:
    found = frames(sse(delta(content="x"), delta(**call("{", name="Bash")), done=False))
    assert [frame["type"] for frame in found] == ["message_start", "content_block_start", "content_block_delta"]


def test_an_error_in_the_stream_is_an_error_frame() -> None:
    found = frames(sse(delta(content="x"), {"error": {"message": "gone", "code": 500}}, done=False))
    assert found[-1] == {"type": "error", "error": {"type": "api_error", "message": "gone"}}


def test_only_the_first_of_several_choices_counts() -> None:
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": None}]}
    assert blocks(sse(delta(content="yes"), other, delta("stop"))) == [{"type": "text", "text": "yes"}]


@pytest.mark.parametrize("line", [b"data: oops\n\n", b"data: 3\n\n"])
def test_an_event_that_is_no_object_is_an_error(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"JSON|object|malformed"):
        frames(line)


def test_a_document_is_the_same_answer() -> None:
    message = {
        "role": "assistant",
        "content": "Hi.",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "a", "function": {"name": "Bash", "arguments": "{}"}}],
    }
    document = {"id": "c", "choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": USAGE}
    found = whole_message(document, answer())
    assert found is not None
    assert [block["type"] for block in found["content"]] == ["thinking", "text", "tool_use"]
    assert (found["id"], found["stop_reason"], found["usage"]["output_tokens"]) == ("c", "tool_use", 7)


@pytest.mark.parametrize("document", [None, [], {}, {"choices": []}, {"choices": [3]}, {"error": {"message": "x"}}])
def test_what_is_no_completion_is_none(document: Any) -> None:
    assert whole_message(document, answer()) is None


def test_cached_tokens_are_counted_apart() -> None:
    assert messages_usage({"prompt_tokens": 5, "completion_tokens": 1, "prompt_cache_hit_tokens": 9}) == {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 5,
        "output_tokens": 1,
    }
