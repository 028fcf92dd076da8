"""Whatever history goes in, the rules of the Messages API hold on what goes out."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.model.api.question import Message
from bridle.agent.sessions.api_messages import blocks_of
from bridle.agent.sessions.valid_history import NO_CONTENT, NO_RESULT, valid_history
from bridle.stage.history import history_fault

TEXTS = st.sampled_from(["", " ", "\n\t", "hello", "second"])
IDS = st.sampled_from(["a", "b", "c", "a b", "", "ü"])
ODD: Any = st.sampled_from([None, 5, "text", [], {}, {"type": 5}, {"type": "text"}, {"type": "tool_use"}])
PARTS = st.one_of(st.builds(lambda text: {"type": "text", "text": text}, TEXTS), ODD)
BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(
        lambda mark: {"type": "thinking", "thinking": "hm", "signature": mark}, st.sampled_from(["", "c2ln", None])
    ),
    st.just({"type": "thinking", "thinking": "hm"}),
    st.just({"type": "redacted_thinking", "data": "x"}),
    st.builds(lambda name: {"type": "tool_use", "id": name, "name": "My tool", "input": {}}, IDS),
    st.builds(
        lambda name, content, error: {
            "type": "tool_result",
            "tool_use_id": name,
            "content": content,
            "is_error": error,
        },
        IDS,
        st.one_of(TEXTS, st.lists(PARTS, max_size=2), st.none()),
        st.booleans(),
    ),
    st.just({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "x"}}),
    st.just({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
    st.just({"type": "web_search_tool_result", "tool_use_id": "s", "content": []}),
    ODD,
)
HISTORIES = st.lists(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "assistant", "system"]),
            "content": st.one_of(TEXTS, st.lists(BLOCKS, max_size=5)),
        }
    ),
    max_size=8,
)

ASKED: Message = {"role": "user", "content": [{"type": "text", "text": "go"}]}


def called(name: str, command: str = "ls") -> dict[str, Any]:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}


def result(name: str, content: str = "done") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


@given(history=HISTORIES)
def test_any_history_is_made_valid(history: list[Message]) -> None:
    valid = valid_history(history)
    assert history_fault(valid) is None  # type: ignore[arg-type]  # a message is a JSON object
    assert valid[-1]["role"] != "assistant"
    roles = [message["role"] for message in valid]
    assert all(role == "system" or (role, other) != (role, role) for role, other in itertools.pairwise(roles))


@given(history=HISTORIES)
def test_a_valid_history_is_not_changed(history: list[Message]) -> None:
    valid = valid_history(history)
    assert valid_history(valid) == valid


@given(history=HISTORIES)
def test_a_history_that_is_continued_later_has_a_result_for_every_call(history: list[Message]) -> None:
    valid = valid_history(history, for_request=False)
    assert not valid or history_fault(valid) is None  # type: ignore[arg-type]  # a message is a JSON object


def test_two_calls_with_one_id_get_ids_and_results_of_their_own() -> None:
    answer: Message = {"role": "assistant", "content": [called("x", "one"), called("x", "two")]}
    results: Message = {"role": "user", "content": [result("x", "1"), result("x", "2")]}
    _, answered, replied = valid_history([ASKED, answer, results])
    assert [(block["id"], block["input"]["command"]) for block in answered["content"]] == [("x", "one"), ("x_2", "two")]  # type: ignore[index]
    assert [(block["tool_use_id"], block["content"]) for block in replied["content"]] == [("x", "1"), ("x_2", "2")]  # type: ignore[index]


def test_an_id_that_comes_again_later_keeps_both_results() -> None:
    history: list[Message] = []
    for number in ("1", "2"):
        history += [
            {"role": "assistant", "content": [called("x", number)]},
            {"role": "user", "content": [result("x", number)]},
        ]
    valid = valid_history([ASKED, *history])
    assert [block["tool_use_id"] for message in valid[2::2] for block in message["content"]] == ["x", "x_2"]  # type: ignore[index]
    assert [block["content"] for message in valid[2::2] for block in message["content"]] == ["1", "2"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("history", "texts"),
    [
        (
            [
                ASKED,
                {"role": "assistant", "content": [{"type": "text", "text": "one"}]},
                {"role": "user", "content": " "},
            ],
            NO_CONTENT,
        ),
        ([ASKED, {"role": "assistant", "content": [called("a")]}], NO_RESULT),
    ],
)
def test_what_is_missing_is_said(history: list[Message], texts: str) -> None:
    block = blocks_of(valid_history(history)[-1]["content"])[0]
    assert texts in (block.get("text"), block.get("content"))
