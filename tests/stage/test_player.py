"""Which answer a request gets, and what captured values become."""

from __future__ import annotations

from typing import Any

import pytest

from bridle.stage.answers import When
from bridle.stage.player import ChosenAnswer, NoAnswer, Player, matches
from bridle.stage.prompt import Prompt, read_prompt
from bridle.stage.script import load_script


def prompt(*messages: Any, **fields: Any) -> Prompt:
    text = [{"role": "user", "content": item} if isinstance(item, str) else item for item in messages or ("hi",)]
    read = read_prompt({"model": "some-model", "messages": text} | fields, needs_max_tokens=False)
    assert isinstance(read, Prompt)
    return read


def answer_path(player: Player, *messages: Any, **fields: Any) -> str | None:
    """The path of the answer that the player takes."""
    return player.take(prompt(*messages, **fields)).path


def first_block(player: Player, *messages: Any) -> Any:
    """The first block of the message that the player takes."""
    result = player.take(prompt(*messages))
    assert isinstance(result, ChosenAnswer), result
    return result.answer.blocks[0]  # type: ignore[union-attr]  # the scripts here hold messages only


CALLED = [
    "find it",
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Grep", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "found id=7"}]},
    {"role": "system", "content": "keep going"},
]


@pytest.mark.parametrize(
    ("when", "fits", "misses"),
    [
        ({"contains": "apple"}, ("an apple",), ("a pear",)),
        ({"contains": "apple"}, ({"role": "user", "content": [{"type": "text", "text": "apple"}]},), ("apple", "pear")),
        ({"contains": "found id"}, CALLED, ("found nothing",)),
        ({"contains": "find it", "in": "messages"}, CALLED, ("found",)),
        ({"contains": "keep", "in": "messages"}, CALLED, ("found",)),
        ({"contains": "id=7", "in": "tool_results"}, CALLED, ("id=7",)),
        ({"matches": "a.*z$"}, ("a\nto z",), ("a to y",)),
        ({"tool_result_of": "Grep"}, CALLED, CALLED[:1]),
        ({"turn": 2}, CALLED, ("one",)),
        ({"turn": 1, "contains": "a"}, ("a",), ("b",)),
    ],
)
def test_conditions_on_messages_hold_and_fail(
    when: dict[str, Any], fits: tuple[Any, ...], misses: tuple[Any, ...]
) -> None:
    script = load_script({"answers": [{"when": when, "blocks": []}], "otherwise": {"blocks": []}})
    assert answer_path(Player(script), *fits) == "answers[0]"
    assert answer_path(Player(script), *misses) == "otherwise"


def test_conditions_on_the_rest_of_a_request_hold_and_fail() -> None:
    rich = prompt(
        model="claude-haiku-9", system=[{"type": "text", "text": "Be brief."}], tools=[{"name": "Bash"}], stream=True
    )
    plain = prompt()
    for when in (
        When(model="*haiku*"),
        When(system_contains="brief"),
        When(contains="brief", source="system"),
        When(contains="brief", source="all"),
        When(has_tool="Bash"),
        When(stream=True),
    ):
        assert matches(when, rich), when
        assert not matches(when, plain), when


def test_answers_are_used_in_order_and_as_often_as_their_times() -> None:
    player = Player(
        load_script({"answers": [{"blocks": []}, {"blocks": [], "times": 2}, {"blocks": [], "times": None}]})
    )
    assert [answer_path(player) for _ in range(6)] == ["answers[0]", "answers[1]", "answers[1]"] + ["answers[2]"] * 3


def test_an_answer_that_does_not_match_is_kept_for_later() -> None:
    player = Player(load_script({"answers": [{"when": {"contains": "b"}, "blocks": []}, {"blocks": []}]}))
    assert [answer_path(player, "a"), answer_path(player, "b"), answer_path(player, "b")] == [
        "answers[1]",
        "answers[0]",
        None,
    ]


def test_an_exhausted_script_is_an_error_that_shows_the_request() -> None:
    stuck = Player(load_script({"answers": [{"when": {"turn": 9}, "blocks": []}]})).take(prompt("the question"))
    assert isinstance(stuck, NoAnswer)
    assert stuck.refusal.status == 400
    assert "script exhausted" in stuck.refusal.message
    assert "the question" in stuck.refusal.message


def test_a_conversation_owns_its_requests_and_falls_back_outwards() -> None:
    script = load_script(
        {
            "conversations": [
                {"when": {"model": "small"}, "answers": [{"blocks": []}], "otherwise": {"blocks": []}},
                {"when": {"system_contains": "sub"}, "answers": [{"blocks": []}]},
            ],
            "answers": [{"blocks": []}],
            "otherwise": {"blocks": []},
        }
    )
    player = Player(script)
    assert answer_path(player, model="small", system="sub") == "conversations[0].answers[0]"
    assert answer_path(player, model="small", system="sub") == "conversations[0].otherwise"
    assert [answer_path(player, system="sub") for _ in range(2)] == ["conversations[1].answers[0]", "otherwise"]
    assert [answer_path(player) for _ in range(2)] == ["answers[0]", "otherwise"]


def test_a_captured_value_fills_the_same_answer_and_later_ones() -> None:
    script = load_script(
        {
            "answers": [
                {
                    "capture": {"id": {"from": "tool_results", "pattern": "id=(\\d+)"}},
                    "blocks": [
                        {"type": "tool_use", "name": "Do${id}", "id": "t${id}", "input": {"a": ["x ${id}", 1, None]}}
                    ],
                },
                {"blocks": ["still ${id}, not $${id} nor ${id:-x}"]},
            ]
        }
    )
    player = Player(script)
    use = first_block(player, *CALLED)
    assert (use.name, use.id, use.input) == ("Do7", "t7", {"a": ["x 7", 1, None]})
    assert first_block(player, "anything") == "still 7, not ${id} nor ${id:-x}"


@pytest.mark.parametrize(("take", "value"), [("first", "1"), ("last", "3"), (None, "3")])
def test_the_last_match_counts_unless_the_first_is_asked_for(take: str | None, value: str) -> None:
    capture = {"from": "last_user", "pattern": "id=(\\d)"} | ({"take": take} if take else {})
    player = Player(load_script({"answers": [{"capture": {"id": capture}, "blocks": ["${id}"]}]}))
    assert first_block(player, "id=1 id=2 id=3") == value


def test_a_value_stays_until_a_new_one_is_found() -> None:
    capture = {"id": {"from": "last_user", "pattern": "id=(\\d)"}}
    player = Player(load_script({"answers": [{"capture": capture, "blocks": ["${id}"], "times": "forever"}]}))
    assert [first_block(player, "id=1"), first_block(player, "none"), first_block(player, "id=2")] == ["1", "1", "2"]


def test_a_value_that_was_never_captured_is_an_api_error_that_names_it() -> None:
    capture = {"id": {"from": "last_user", "pattern": "id=(\\d)"}}
    stuck = Player(load_script({"answers": [{"capture": capture, "blocks": ["${id}"]}]})).take(prompt("none"))
    assert isinstance(stuck, NoAnswer)
    assert stuck.path == "answers[0]"
    assert "answers[0] needs ${id}" in stuck.refusal.message


def test_values_fill_error_messages_and_malformed_text() -> None:
    capture = {"id": {"from": "last_user", "pattern": "(\\w+)"}}
    script = load_script(
        {
            "answers": [
                {"kind": "error", "status": 404, "message": "no ${id}", "capture": capture},
                {"kind": "malformed", "text": "{${id}"},
            ]
        }
    )
    player = Player(script)
    first, second = player.take(prompt("me")), player.take(prompt("x"))
    assert isinstance(first, ChosenAnswer)
    assert isinstance(second, ChosenAnswer)
    assert first.answer.message == "no me"  # type: ignore[union-attr]  # it is the error
    assert second.answer.text == "{me"  # type: ignore[union-attr]  # it is the malformed one
