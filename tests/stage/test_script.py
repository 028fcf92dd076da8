"""A script is taken whole or refused with the path of what is wrong."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import ScriptError
from bridle.stage.answers import DEFAULT_MODELS, Failure, Message, Script, Text, ToolUse
from bridle.stage.script import load_script, schema

GOOD: dict[str, Any] = {
    "answers": [
        {"blocks": ["hi", {"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "Bash"}]},
        {"kind": "error", "status": 429, "headers": {"retry-after": "2"}, "times": "forever"},
        {"kind": "overloaded_in_stream", "blocks": ["a"], "after_events": 2, "times": None},
        {"kind": "drop_connection", "after_bytes": 10},
        {"kind": "hang", "seconds": 1.5},
        {"kind": "malformed", "text": "{"},
        {
            "when": {"contains": "x", "in": "all", "turn": 2},
            "capture": {"id": {"from": "tool_results", "pattern": "id=(\\w+)"}},
            "blocks": [{"type": "raw", "block": {"type": "text", "text": "${id} $${HOME}"}}],
        },
    ],
    "conversations": [{"when": {"model": "*haiku*"}, "answers": [{"blocks": []}]}],
    "otherwise": {"blocks": ["?"]},
    "models": ["m"],
}


def edited(path: list[str | int], value: Any) -> dict[str, Any]:
    """The good script with one place changed."""
    script = json.loads(json.dumps(GOOD))
    place = script
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return dict(script)


def test_an_answer_without_a_kind_is_a_message() -> None:
    script = load_script('{"answers":[{"blocks":["hi",{"type":"text","text":"ho"}]}]}')
    assert script == Script(answers=(Message(blocks=("hi", Text(text="ho"))),))
    assert script.models == DEFAULT_MODELS


def test_bytes_text_and_mappings_load_the_same_script() -> None:
    text = json.dumps(GOOD)
    assert load_script(GOOD) == load_script(text) == load_script(text.encode())


def test_loading_leaves_the_given_mapping_as_it_was() -> None:
    data: dict[str, Any] = {"answers": [{"blocks": ["hi"]}]}
    load_script(data)
    assert data == {"answers": [{"blocks": ["hi"]}]}


def test_each_kind_has_its_own_fields() -> None:
    script = load_script(GOOD)
    assert isinstance(script.answers[0], Message)
    assert script.answers[0].blocks[2] == ToolUse(name="Bash")
    assert script.answers[1] == Failure(status=429, headers={"retry-after": "2"}, times="forever")


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (["answer"], [], "answer"),
        (["answers"], 5, "answers"),
        (["answers", 0, "blocks", 1, "type"], "nope", "answers[0].blocks[1].type"),
        (["answers", 0, "blocks", 2], {"type": "tool_use"}, "answers[0].blocks[2].name"),
        (["answers", 0, "block"], [], "answers[0].block"),
        (["answers", 0, "times"], 0, "answers[0].times"),
        (["answers", 0, "times"], "often", "answers[0].times"),
        (["answers", 0, "delay_seconds"], -1, "answers[0].delay_seconds"),
        (["answers", 0, "chunk_chars"], 0, "answers[0].chunk_chars"),
        (["answers", 0, "usage"], {"input_tokens": -1}, "answers[0].usage.input_tokens"),
        (["answers", 0, "kind"], "nope", "answers[0].kind"),
        (["answers", 1, "status"], 200, "answers[1].status"),
        (["answers", 1, "headers"], {"ok": "1", "retry-after": 5}, "answers[1].headers.retry-after"),
        (["answers", 1, "headers"], {"a b": "1"}, "answers[1].headers.a b"),
        (["answers", 1, "headers"], {"Content-Length": "1"}, "answers[1].headers.Content-Length"),
        (["answers", 1, "headers"], {"x": "a\r\nb: c"}, "answers[1].headers.x"),
        (["answers", 3, "after_events"], 1, "answers[3].after_bytes"),
        (["answers", 6, "when", "in"], "everywhere", "answers[6].when.in"),
        (["answers", 6, "when", "matches"], "(", "answers[6].when.matches"),
        (["answers", 6, "when", "matches"], "a{99999999999}", "answers[6].when.matches"),
        (["answers", 6, "capture", "id", "pattern"], "no group", "answers[6].capture.id.pattern"),
        (["answers", 6, "capture", "id", "pattern"], "(two)(groups)", "answers[6].capture.id.pattern"),
        (["answers", 6, "capture", "id", "from"], "air", "answers[6].capture.id.from"),
        (["answers", 6, "capture", "2x"], {"from": "all", "pattern": "(a)"}, "answers[6].capture.2x"),
        (["answers", 6, "blocks"], [{"type": "raw", "block": {"a": ["${no}"]}}], "answers[6].blocks[0].block.a[0]"),
        (["answers", 5, "text"], "${no}", "answers[5].text"),
        (["conversations", 0, "answers", 0, "zz"], 1, "conversations[0].answers[0].zz"),
        (["conversations", 0, "when", "matches"], "[", "conversations[0].when.matches"),
        (["conversations", 0], {"answers": []}, "conversations[0].when"),
        (["otherwise", "times"], 1, "otherwise.times"),
        (["otherwise", "when"], {}, "otherwise.when"),
    ],
)
def test_a_wrong_place_is_named(path: list[str | int], value: Any, named: str) -> None:
    with pytest.raises(ScriptError) as caught:
        load_script(edited(path, value))
    assert caught.value.payload == named
    assert f" at {named}: " in caught.value.message


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ({"answers": [{"text": "hi"}]}, "the kind 'message' has kind, when, times, "),
        ({"answers": [], "conversations": [{"when": {}, "answers": [{"kind": "error", "code": 429}]}]}, "status"),
        ({"answer": []}, "a script has answers, conversations, otherwise, models"),
        ({"answers": [{"blocks": [], "usage": {"tokens": 1}}]}, "answers[0].usage.tokens: unknown key"),
        ({"answers": [{"blocks": [], "capture": {"a.b[0]": {"from": "all", "pat": ""}}}]}, "unknown key"),
    ],
)
def test_an_unknown_key_is_reported_with_the_known_ones(script: dict[str, Any], words: str) -> None:
    with pytest.raises(ScriptError) as caught:
        load_script(script)
    assert words in caught.value.message


@pytest.mark.parametrize("data", [b"", b"\xff", b"{", b"[]", b"5", "\ud800", "[" * 100_000, b'{"answers":NaN}', b"{}"])
def test_what_is_no_script_is_refused(data: bytes | str) -> None:
    with pytest.raises(ScriptError):
        load_script(data)


def test_numbers_that_json_cannot_hold_are_refused() -> None:
    with pytest.raises(ScriptError, match="not JSON"):
        load_script({"answers": [{"blocks": [], "delay_seconds": float("nan")}]})


def test_a_name_that_nothing_captures_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(ScriptError, match=r"answers\[0\].blocks\[0\].input.command: .*write `\$\$\{HOME\}`"):
        load_script({"answers": [{"blocks": [{"type": "tool_use", "name": "B", "input": {"command": "${HOME}"}}]}]})


def test_the_schema_takes_the_good_script_and_refuses_a_wrong_one() -> None:
    judge = jsonschema_rs.validator_for(schema())
    assert list(judge.iter_errors(GOOD)) == []
    assert not judge.is_valid(edited(["answers", 0, "blocks", 1, "type"], "nope"))
    assert not judge.is_valid(edited(["answers", 0, "wrong"], 1))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
places: list[list[str | int]] = [
    ["answers"],
    ["otherwise"],
    ["conversations"],
    ["models"],
    ["answers", 0, "blocks"],
    ["answers", 0, "blocks", 2, "input"],
    ["answers", 0, "usage"],
    ["answers", 1, "headers"],
    ["answers", 6, "when"],
    ["answers", 6, "capture"],
    ["answers", 6, "capture", "id", "pattern"],
    ["conversations", 0, "answers"],
]


@given(json_values)
def test_arbitrary_values_are_scripts_or_refused(value: Any) -> None:
    taken_or_refused(value if isinstance(value, dict) else json.dumps(value))


@given(st.sampled_from(places), json_values)
def test_arbitrary_values_inside_a_script_are_taken_or_refused(path: list[str | int], value: Any) -> None:
    taken_or_refused(edited(path, value))


@given(st.binary() | st.text())
def test_arbitrary_bytes_are_scripts_or_refused(data: bytes | str) -> None:
    taken_or_refused(data)


def taken_or_refused(data: Any) -> None:
    """Fail on any other error than ours."""
    try:
        loaded = load_script(data)
    except ScriptError:
        return
    assert loaded.answers or loaded.otherwise or loaded.conversations
