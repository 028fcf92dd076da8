"""JSON of endpoints: half a character is no reason to give up an answer, and what is not JSON is an error."""

from __future__ import annotations

import pytest

from bridle.agent.model.api.api_json import decode_json


def test_half_of_a_character_is_replaced() -> None:
    assert decode_json(rb'{"text": "a\ud83d", "more": ["\ude00b", 1]}') == {"text": "a\ufffd", "more": ["\ufffdb", 1]}
    assert decode_json(rb'"\ud83d\ude00"') == "\U0001f600"


@pytest.mark.parametrize("data", [b"", b"{broken", rb'{"text": "\ud83d"', b"NaN", b"[" * 100_000])
def test_what_is_not_json_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode_json(data)
