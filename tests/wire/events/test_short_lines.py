"""Short lines that are not events, against the decoders."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.events.decode import decode, decode_stream
from bridle.wire.events.events import Event, Ignored, Malformed
from bridle.wire.events.loose_json import decode_json
from bridle.wire.events.short_lines import decode_short

PIECES = [b"{", b"}", b"[", b"]", b'"', b":", b",", b"\\", b"-", b"0", b"1", b".", b"e", b" ", b"\t", b"\r", b"\x1c"]
PIECES += [b"true", b"null", b"NaN", b"Infinity", b'"a"', b"\xc2\xa0", b"\xe2\x80\xa8", b"\xff", b"x", b"\\u0041"]


@given(st.lists(st.sampled_from(PIECES), max_size=10).map(b"".join) | st.binary(max_size=8))
def test_a_short_line_is_what_the_decoders_make_of_it(line: bytes) -> None:
    known = decode_short(line)
    if known is not None:
        assert [(type(event), event.raw) for event in known] == _expected(line)


def _expected(line: bytes) -> list[tuple[type[Event], bytes]]:
    """Return the event of a line that is not an object and does not begin with one."""
    if not line.decode("utf-8", "replace").strip():
        return []
    try:
        value = decode_json(line)
    except (ValueError, RecursionError):
        return [(Malformed, line)]
    assert not isinstance(value, dict)
    return [(Ignored, line)]


@given(st.binary(min_size=1, max_size=8))
def test_a_long_line_of_text_is_what_the_decoders_make_of_it(start: bytes) -> None:
    line = start + b"\xff" * 100
    known = decode_short(line)
    if known is not None:
        assert [(type(event), event.raw) for event in known] == _expected(line)


def test_objects_are_left_to_the_decoders() -> None:
    for line in (b"{}", b' {"a" : 1}', b'{"a":1}{"b":2}', b"{}x", b"\xc2\xa0{}"):
        assert decode_short(line) is None
    assert [type(event).__name__ for event in decode(b"{}x")] == ["Unknown", "Malformed"]


def test_a_tiny_line_that_is_repeated_is_decoded_once() -> None:
    """`make bench` measures what garbage costs; here its events are counted."""
    for line in (b"x", b"{", b"[", b'"', b"1", b"{}", b"[]", b"\xff"):
        events = list(decode_stream([(line + b"\n") * 1000]))
        assert len(events) == 1000
        assert len({id(event) for event in events}) == 1
        assert events[0].raw == line
