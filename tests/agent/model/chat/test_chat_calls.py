"""Tool calls in pieces, as different servers send them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from bridle.agent.model.chat.chat_calls import NAMELESS, ChatCalls


def piece(arguments: Any = None, *, name: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


def collected(*chunks: Any, used: Collection[str] = (), names: dict[str, str] | None = None) -> list[tuple[Any, ...]]:
    ids = iter(["new1", "new2", "new3"])
    calls = ChatCalls(names or {}, used, lambda: next(ids))
    for chunk in chunks:
        calls.add(chunk)
    return [(block["id"], block["name"], arguments) for block, arguments in calls.blocks()]


def test_pieces_of_parallel_calls_may_come_in_any_order() -> None:
    assert collected(
        [piece("", name="Read", index=0, id="a"), piece("{", name="Bash", index=1, id="b")],
        [piece('"x":', index=0)],
        [piece("}", index=1)],
        [piece("1}", index=0)],
    ) == [("a", "Read", '"x":1}'), ("b", "Bash", "{}")]


@pytest.mark.parametrize(
    "chunks",
    [
        pytest.param([[piece("{}", name="A", index=0)], [piece("{}", name="B", index=1)]], id="no ids"),
        pytest.param([[piece("{}", name="A")], [piece("{}", name="B")]], id="no ids and no indexes"),
        pytest.param([[piece("{", name="A")], [piece("}")], [piece("{", name="B"), piece("}")]], id="only names"),
        pytest.param([[piece("{}", name="A", id=""), piece("{}", name="B", id=None)]], id="empty ids"),
    ],
)
def test_calls_without_ids_get_some(chunks: list[Any]) -> None:
    assert collected(*chunks) == [("new1", "A", "{}"), ("new2", "B", "{}")]


@pytest.mark.parametrize("names", [("Ba", "sh"), ("B", "a", "sh"), ("Bash", "Bash"), ("Ba", "Bash"), ("", "Bash")])
def test_a_name_in_pieces_or_repeated_is_one_name(names: tuple[str, ...]) -> None:
    pieces = [[piece("", name=name, index=0, id="a")] for name in names]
    assert collected(*pieces, [piece("{", name="Bash", index=0)], [piece("}", index=0)]) == [("a", "Bash", "{}")]


def test_calls_with_one_index_are_told_apart_by_their_ids() -> None:
    pieces = [[piece("{}", name="A", index=0, id="a")], [piece("{}", name="A", index=0, id="b")]]
    assert collected(*pieces) == [("a", "A", "{}"), ("b", "A", "{}")]
    without_index = [[piece("{", name="A", id="a")], [piece("{}", name="B", id="b")], [piece("}", id="a")]]
    assert collected(*without_index) == [("a", "A", "{}"), ("b", "B", "{}")]


def test_no_two_calls_of_a_conversation_share_an_id() -> None:
    pieces = [[piece("{}", name="A", index=0, id="call_0"), piece("{}", name="A", index=1, id="call_0")]]
    assert [found[0] for found in collected(*pieces, used=["call_0"])] == ["new1", "new2"]


def test_an_id_has_only_characters_that_the_messages_api_accepts() -> None:
    assert collected([piece("{}", name="A", id="functions.A:0")])[0][0] == "functions_A_0"


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ({"a": 1}, '{"a":1}'),
        ("null", ""),
        ("", ""),
        ('"{\\"a\\":1}"', '{"a":1}'),
        ("{oops", "{oops"),
        ('"oops', '"oops'),
        (None, ""),
    ],
)
def test_arguments_may_be_an_object_or_nothing_or_encoded_twice(sent: Any, arguments: str) -> None:
    assert collected([piece(sent, name="A", id="a")]) == [("a", "A", arguments)]


def test_a_name_that_is_repeated_or_was_shortened_or_is_missing() -> None:
    repeated = [[piece("{", name="A", index=0, id="a")], [piece("}", name="A", index=0, id="a")]]
    assert collected(*repeated) == [("a", "A", "{}")]
    assert collected([piece("{}", name="short", id="a")], names={"short": "long"})[0][1] == "long"
    assert collected([piece("{}", id="a")])[0][1] == NAMELESS


@pytest.mark.parametrize("odd", [None, "x", [None, 3], [{"function": "x"}], {}])
def test_what_is_no_call_does_no_harm(odd: Any) -> None:
    assert len(collected(odd)) <= 1
