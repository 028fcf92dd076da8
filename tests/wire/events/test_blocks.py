"""Content blocks: their text and their arguments, whatever form they were sent in."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.wire.events.blocks import ToolResult, ToolUse, UnknownBlock, plain_text, tool_result, tool_use
from bridle.wire.events.loose_json import to_raw


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([{"type": "text", "text": "a"}, "b", {"type": "image"}], "a\nb\n[image]"),
        ([{"text": 5}], '{"text":5}'),
        ({"any": "object"}, '{"any":"object"}'),
        (7, "7"),
    ],
)
def test_the_text_of_a_result_is_found_in_every_form(content: Any, text: str) -> None:
    assert plain_text(content) == text
    assert tool_result("t", content).text == text


def test_arguments_are_an_object_or_nothing() -> None:
    assert tool_use("t", "Bash", {"command": "ls"}).arguments == {"command": "ls"}
    assert ToolUse(input=to_raw(["ls"])).arguments == {}


def test_blocks_are_equal_by_value_not_by_their_bytes() -> None:
    spaced = ToolUse(id="t", input=to_raw({"a": 1}))
    assert spaced == ToolUse(id="t", input=type(spaced.input)(b'{ "a" : 1 }'))
    assert hash(spaced) == hash(ToolUse(id="t", input=type(spaced.input)(b'{ "a" : 1 }')))
    assert spaced != ToolResult(tool_use_id="t")


def test_an_unknown_block_has_its_type_if_that_is_a_text() -> None:
    assert [UnknownBlock(value=value).kind for value in ({"type": "new"}, {"type": 5}, "x")] == ["new", "", ""]
