"""The tolerant decoder: a wrong field gets its default, and everything else is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import Struct

from bridle.wire.events.blocks import ToolResult, ToolUse, UnknownBlock
from bridle.wire.events.decode_tolerant import (
    GLUED_LIMIT,
    convert,
    decode_blocks,
    decode_tolerantly,
    struct_decoder,
    token_count,
)
from bridle.wire.events.events import Assistant, Ignored, Malformed, Message, Result, Unknown, Usage
from bridle.wire.events.loose_json import to_raw
from bridle.wire.events.system import Init, System


class Inner(Struct, frozen=True):
    """A nested struct."""

    name: str = ""


class Outer(Struct, frozen=True):
    """A struct with one field of each kind."""

    text: str = "default"
    one: Inner = Inner()
    maybe: Inner | None = None
    many: tuple[Inner, ...] = ()


def event(value: object) -> Any:
    (decoded,) = decode_tolerantly(json.dumps(value).encode())
    return decoded


def test_each_wrong_field_gets_its_default_and_the_others_are_kept() -> None:
    assert convert({"text": 5, "one": {"name": 6}, "maybe": {"name": "m"}}, Outer) == Outer(maybe=Inner("m"))
    assert convert({"text": "t", "many": [{"name": "a"}, 7, {"name": 8}]}, Outer) == Outer(
        "t", many=(Inner("a"), Inner())
    )
    assert convert(["not", "an", "object"], Outer) == Outer()


@pytest.mark.parametrize("data", [b'{"text": "t", "one": 5}', b'{"text": "t", "one": NaN}'])
def test_a_struct_decoder_is_as_tolerant(data: bytes) -> None:
    assert struct_decoder(Outer)(data) == Outer("t")


def test_a_message_with_broken_blocks_keeps_the_whole_ones() -> None:
    content = [{"type": "text", "text": 5}, {"type": "tool_use", "id": "t", "input": "x"}, {"type": "new"}, 7]
    assert event({"type": "assistant", "message": {"id": 9, "content": content}}) == Assistant(
        message=Message(
            content=(
                UnknownBlock(value={"type": "text", "text": 5}),
                ToolUse(id="t", input=to_raw("x")),
                UnknownBlock(value={"type": "new"}),
                UnknownBlock(value=7),
            )
        )
    )


def test_counts_of_tokens_are_numbers_whatever_was_sent() -> None:
    usage = event({"type": "result", "num_turns": "3", "usage": {"input_tokens": "7", "output_tokens": None}})
    assert usage == Result(usage=Usage(input_tokens=7))
    values: list[Any] = ["12", 3.9, True, None, [], float("inf"), "x"]
    assert [token_count(value) for value in values] == [12, 3, 1, 0, 0, 0, 0]


def test_what_is_no_known_event_is_kept_as_what_it_is() -> None:
    assert event({"type": ["result"]}) == Unknown(kind="", value={"type": ["result"]})
    assert event({"type": "system", "subtype": 7}) == System(value={"type": "system", "subtype": 7})
    assert event({"type": "system", "subtype": "init", "tools": [1]}) == Init()
    assert event([1]) == Ignored(raw=b"[1]")


def test_objects_that_share_a_line_are_split_and_the_broken_rest_is_malformed() -> None:
    split = decode_tolerantly(b'{"type":"result"} {"type":"x"}{"type":')
    assert [type(part) for part in split] == [Result, Unknown, Malformed]
    assert split[2].raw == b'{"type":'
    assert decode_tolerantly(b" \t ") == []
    assert len(decode_tolerantly(b"{}" * (GLUED_LIMIT + 50))) == GLUED_LIMIT + 1


def test_a_call_and_its_result_with_integer_ids_are_joined() -> None:
    call, answer = {"type": "tool_use", "id": 7, "name": "Bash"}, {"type": "tool_result", "tool_use_id": 7}
    used, result = decode_blocks([call, answer])
    assert isinstance(used, ToolUse)
    assert isinstance(result, ToolResult)
    assert used.id == result.tool_use_id == "7"


def test_a_text_block_without_text_is_kept_as_it_was_sent() -> None:
    block = {"type": "text", "text": 5}
    assert decode_blocks([block]) == (UnknownBlock(value=block),)
