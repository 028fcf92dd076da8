from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.agent.model.api.sse import Reader
from bridle.errors import NetworkError


def read(*chunks: bytes) -> list[bytes]:
    reader = Reader()
    return [event for chunk in chunks for event in reader.feed(chunk)]


STREAM = (
    b'\xef\xbb\xbfevent: message_start\ndata: {"a": 1}\n\n'
    b": a comment\r\n\r\n"
    b"event: ping\r\ndata: {}\r\n\r\n"
    b"data:no space\rdata:  two spaces\r\r"
    b"id: 7\nretry: 10\nunknown: x\ndatabase: no\ndata\n\n"
    b"data: one\r\ndata: two\r\n\r\n"
    b"data: last \xc3\xa4\n\n"
)
EVENTS = [b'{"a": 1}', b"{}", b"no space\n two spaces", b"one\ntwo", b"last \xc3\xa4"]


def test_every_event_with_data_is_given_and_nothing_else() -> None:
    assert read(STREAM) == EVENTS


def test_any_cut_gives_the_same_events() -> None:
    for first in range(len(STREAM) + 1):
        for second in range(first, len(STREAM) + 1):
            assert read(STREAM[:first], STREAM[first:second], STREAM[second:]) == EVENTS


def test_byte_by_byte_gives_the_same_events() -> None:
    assert read(*(STREAM[index : index + 1] for index in range(len(STREAM)))) == EVENTS


@given(st.binary(), st.lists(st.integers(min_value=0, max_value=300), max_size=5))
def test_arbitrary_bytes_are_read_alike_however_they_are_cut(data: bytes, cuts: list[int]) -> None:
    data = data.replace(b"\x00", b"\n").replace(b"\x01", b"\r").replace(b"\x02", b"data:x")
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    whole, pieces = Reader(), Reader()
    expected = whole.feed(data) + whole.finish()
    got = [event for start, end in pairwise(places) for event in pieces.feed(data[start:end])]
    assert got + pieces.finish() == expected


def test_a_line_of_many_megabytes_is_read_in_time_that_grows_with_its_length() -> None:
    line = b"x" * 8_000_000
    reader = Reader()
    events = reader.feed(b"data: ")
    for start in range(0, len(line), 1000):
        events += reader.feed(line[start : start + 1000])
    assert events + reader.feed(b"\n\n") == [line]


def test_an_event_without_end_is_refused_before_it_fills_the_memory() -> None:
    reader = Reader(limit_bytes=10_000)
    for _ in range(9):
        assert reader.feed(b"data: " + b"x" * 1000) == []
    with pytest.raises(NetworkError, match="larger than 10000 bytes") as caught:
        reader.feed(b"data: " + b"x" * 1000)
    assert caught.value.kind == "garbled"


def test_many_small_events_are_not_one_large_one() -> None:
    reader = Reader(limit_bytes=100)
    assert reader.feed(b"data: x\n\n" * 1000) == [b"x"] * 1000


@pytest.mark.parametrize("end", [b"", b"\n", b"\r", b"\r\n"])
def test_the_last_event_counts_when_only_the_empty_line_after_it_is_missing(end: bytes) -> None:
    reader = Reader()
    assert reader.feed(b"data: x" + end) == []
    assert reader.finish() == [b"x"]
    assert reader.finish() == []
