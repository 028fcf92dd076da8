"""Lone surrogates become U+FFFD wherever text is decoded; pairs become their character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.events.decode import decode
from bridle.wire.events.events import Assistant
from bridle.wire.events.loose_json import loads, without_surrogates
from bridle.wire.events.surrogates import replace_surrogates


@given(st.text(st.characters()))
def test_text_without_surrogates_is_not_changed(text: str) -> None:
    whole = "".join(character for character in text if not 0xD800 <= ord(character) <= 0xDFFF)
    assert replace_surrogates(whole) == whole


@given(st.text(st.characters(), min_size=1))
def test_no_surrogate_is_left_and_no_character_is_lost(text: str) -> None:
    replaced = replace_surrogates(f"{text}.")
    replaced.encode()
    assert replaced.endswith(".")


@pytest.mark.parametrize(
    ("text", "replaced"),
    [("a\ud83d", "a\ufffd"), ("\udcb2x", "\ufffdx"), ("\ud83d\ude00", "\U0001f600"), ("\ud83d\ud83d", "\ufffd\ufffd")],
)
def test_each_half_becomes_one_replacement_character(text: str, replaced: str) -> None:
    assert replace_surrogates(text) == replaced


def test_decoded_values_have_none_in_keys_and_values() -> None:
    assert loads('{"\\ud83d": ["\\udcb2", "\\ud83d\\ude00", 1e999]}') == {
        "\ufffd": ["\ufffd", "\U0001f600", float("inf")]
    }
    assert without_surrogates({"a": ("\ud800", 1)}) == {"a": ["\ufffd", 1]}


def test_an_event_has_none_and_keeps_its_bytes() -> None:
    line = b'{"type":"assistant","message":{"content":[{"type":"text","text":"x\\ud83d"}]}}'
    (event,) = decode(line)
    assert isinstance(event, Assistant)
    assert event.raw == line
    assert [block.text for block in event.message.blocks] == ["x\ufffd"]  # type: ignore[union-attr]  # a text block
