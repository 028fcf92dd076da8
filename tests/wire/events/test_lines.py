"""Bytes to lines: the same lines whatever the cuts, and no more memory than the limit allows."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.events.decode import Decoder, decode_stream
from bridle.wire.events.events import Event, Skipped
from bridle.wire.events.lines import Lines, Oversize, clean
from tests.sizes import SIZES
from tests.wire.fixtures.claude_recordings import NAMES, recorded

MEBIBYTE = 1024 * 1024
CHUNK_SIZES = (1, 2, 3, 7, 64, 4096)


def lines_of(chunks: Iterable[bytes], *, limit_bytes: int = MEBIBYTE) -> list[bytes | Oversize]:
    lines = Lines(limit_bytes=limit_bytes)
    result = [line for chunk in chunks for line in lines.feed(chunk)]
    return result + lines.end()


def chunked(data: bytes, size: int) -> Iterable[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def seen(events: Iterable[Event]) -> list[tuple[Event, bytes]]:
    return [(event, event.raw) for event in events]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_cut_in_two_at_every_offset_yields_the_same_lines(name: str) -> None:
    data = recorded(name)
    step = max(1, len(data) // SIZES.split_offsets_bytes)
    for window, first, last in windows(data):
        whole = lines_of([window])
        for offset in range(first, last, step):
            assert lines_of([window[:offset], window[offset:]]) == whole, offset


def windows(data: bytes) -> Iterable[tuple[bytes, int, int]]:
    """Each line between its neighbours, and where it begins and ends there: a cut in it touches no other line."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    for index, line in enumerate(lines):
        before = lines[index - 1] if index else b""
        yield b"".join((before, *lines[index : index + 2])), len(before), len(before) + len(line)


@pytest.mark.parametrize("size", CHUNK_SIZES)
@pytest.mark.parametrize("name", ["01-happy-text", "11-partial", "12-subagent", "17k-output-text", "05e-bypass"])
def test_a_recording_in_chunks_of_any_size_yields_the_same_events(name: str, size: int) -> None:
    data = recorded(name)
    assert seen(decode_stream(chunked(data, size))) == seen(decode_stream([data]))


@pytest.mark.parametrize("name", ["01-happy-text", "17k-output-text"])
def test_a_recording_cut_in_two_at_every_offset_yields_the_same_events_and_bytes(name: str) -> None:
    data = recorded(name)
    whole = seen(decode_stream([data]))
    for offset in range(len(data) + 1):
        assert seen(decode_stream([data[:offset], data[offset:]])) == whole, offset


def test_only_a_newline_ends_a_line() -> None:
    for inside in ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "a\rb"):
        line = f"before{inside}after".encode()
        assert lines_of([line + b"\nnext"]) == [line, b"next"]


def test_padding_is_stripped_and_blank_lines_are_skipped() -> None:
    mark = b"\xef\xbb\xbf"
    blank = b"\n\r\n\0\n" + mark + b"\n"
    data = mark + b"one\r\n" + blank + b"\0two\0\0\r\n\r" + mark + b"\0" + mark + b"thr\0ee\n\0" + mark + b"four\r\0\n"
    assert lines_of([data]) == [b"one", b"two", b"three", b"four"]
    assert lines_of(chunked(data, 1)) == [b"one", b"two", b"three", b"four"]


def test_the_last_line_without_a_newline_counts_once() -> None:
    lines = Lines()
    assert lines.feed(b"one\ntw") == [b"one"]
    assert lines.feed(b"o") == []
    assert lines.end() == [b"two"]
    assert lines.end() == []


def test_no_bytes_are_no_lines() -> None:
    assert lines_of([]) == lines_of([b""]) == lines_of([b"\n\n"]) == []


def test_a_line_of_exactly_the_limit_is_kept_and_one_byte_more_is_not() -> None:
    for chunk in (1, 3, 100):
        data = b"x" * 10 + b"\n" + b"y" * 11 + b"\n" + b"z" * 12
        result = lines_of(chunked(data, chunk), limit_bytes=10)
        assert result == [b"x" * 10, Oversize(11), Oversize(12)], chunk


def test_reading_continues_after_a_line_over_the_limit() -> None:
    data = b'{"type":"keep_alive"}\n' + b"x" * 100 + b'\n{"type":"keep_alive"}\n'
    for size in (*CHUNK_SIZES, len(data)):
        decoder = Decoder(limit_bytes=50)
        events = [event for chunk in chunked(data, size) for event in decoder.feed(chunk)] + decoder.end()
        assert [type(event).__name__ for event in events] == ["KeepAlive", "Skipped", "KeepAlive"], size
        skipped = events[1]
        assert isinstance(skipped, Skipped)
        assert skipped.size_bytes == 100


def test_a_line_over_the_limit_does_not_fill_the_memory() -> None:
    lines = Lines(limit_bytes=MEBIBYTE)
    tracemalloc.start()
    try:
        for _ in range(200):
            assert lines.feed(b"x" * MEBIBYTE) == []
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lines.feed(b"\n") == [Oversize(200 * MEBIBYTE)]
    assert peak < 4 * MEBIBYTE


def test_a_line_in_single_bytes_does_not_take_many_times_its_size() -> None:
    lines = Lines(limit_bytes=MEBIBYTE)
    tracemalloc.start()
    try:
        for _ in range(20_000):
            lines.feed(b"x")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert lines.end() == [b"x" * 20_000]
    assert peak < MEBIBYTE


PIECES = st.sampled_from(
    [b"\n", b"\r", b"\0", b"\xef\xbb\xbf", b"\xef", b"\xbb\xbf", b"x", b"{}", b" ", b"\xe2\x80\xa8"]
)


@given(data=st.lists(PIECES).map(b"".join), cuts=st.lists(st.integers(0, 60)), limit=st.integers(1, 40))
def test_any_cuts_yield_the_same_lines(data: bytes, cuts: list[int], limit: int) -> None:
    edges = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    pieces = [data[start:end] for start, end in itertools.pairwise(edges)]
    assert lines_of(pieces, limit_bytes=limit) == lines_of([data], limit_bytes=limit)


@given(st.binary())
def test_cleaning_twice_is_cleaning_once(line: bytes) -> None:
    assert clean(clean(line)) == clean(line)
