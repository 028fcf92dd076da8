"""Ids rise whatever the clock does."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import JournalBroken
from bridle.ground.ulid import is_ulid, next_ulid

NOW_MS = 1_794_700_000_000


@given(st.lists(st.tuples(st.integers(0, 2**48 - 2), st.binary(min_size=10, max_size=10)), min_size=2, max_size=50))
def test_ids_rise_whatever_the_clock_and_chance_say(readings: list[tuple[int, bytes]]) -> None:
    ids = [""]
    for now_ms, chance in readings:
        ids.append(next_ulid(ids[-1], now_ms=now_ms, random=chance))
    assert all(is_ulid(text) for text in ids[1:])
    assert all(earlier < later for earlier, later in pairwise(ids))


def test_an_id_tells_its_moment() -> None:
    assert next_ulid("", now_ms=0, random=bytes(10)) == "0" * 26
    assert next_ulid("", now_ms=1, random=bytes(10)) == "0000000001" + "0" * 16
    assert next_ulid("", now_ms=2**48 - 1, random=b"\xff" * 10) == "7" + "Z" * 25


def test_a_clock_that_steps_back_goes_on_just_behind_the_last_id() -> None:
    ahead = next_ulid("", now_ms=NOW_MS + 3_600_000, random=bytes(10))
    following = next_ulid(ahead, now_ms=NOW_MS, random=b"\x01" * 10)
    assert ahead < following
    assert following[:10] == ahead[:10]


def test_a_clock_that_is_right_again_is_believed_again() -> None:
    ahead = next_ulid("", now_ms=NOW_MS, random=b"\xff" * 10)
    assert next_ulid(ahead, now_ms=NOW_MS + 1, random=bytes(10))[:10] > ahead[:10]


def test_behind_the_last_id_of_a_millisecond_comes_the_next_millisecond() -> None:
    full = next_ulid("", now_ms=NOW_MS, random=b"\xff" * 10)
    assert next_ulid(full, now_ms=NOW_MS, random=bytes(10))[:10] > full[:10]


def test_when_there_are_no_more_ids_it_is_reported() -> None:
    with pytest.raises(JournalBroken, match="no id can follow"):
        next_ulid("7" + "Z" * 25, now_ms=NOW_MS, random=bytes(10))


@pytest.mark.parametrize("text", ["", "0" * 25, "0" * 27, "8" + "0" * 25, "0" * 25 + "I", "0" * 25 + "a"])
def test_what_is_no_id_is_distinguished(text: str) -> None:
    assert not is_ulid(text)
