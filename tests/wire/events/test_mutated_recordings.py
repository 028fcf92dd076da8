"""Mutated recordings: whatever a broken transport makes of a stream, nothing raises and nothing is lost."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from bridle.wire.events.decode import decode_stream
from bridle.wire.events.events import Event, Malformed, Skipped
from bridle.wire.record.outcome import Ending, judge
from bridle.wire.record.recorder import record_events
from bridle.wire.record.report import report_document, report_json
from tests.sizes import SIZES
from tests.wire.fixtures.claude_recordings import NAMES, recorded

SHARDS = 4  # so that they run side by side
WINDOW_BYTES = 6_000  # of one recording at a time: most recordings whole, a part of the long ones
LIMIT_BYTES = 5_000  # small enough that lines over the limit occur
RECORDINGS = [data for name in NAMES if (data := recorded(name))]
SWAPS = (b"null", b"[]", b"{}", b"1e400", b"NaN", b"-0", b'"x"', b"true", b"9" * 5000, b'"\\ud800"', b"[" * 2000)
JUNK = (b"\n", b"\0", b"\r\n", b"\xef\xbb\xbf", b"\xff", b"\xe2\x80\xa8", b'"', b"\\", b"{", b"}", b"[", b",", b":")

Mutation = Callable[[random.Random, bytes], bytes]


def flip_bytes(chance: random.Random, data: bytes) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def cut(chance: random.Random, data: bytes) -> bytes:
    start, end = _span(chance, data)
    return data[:start] + data[end:]


def truncate(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data)) + 1]


def repeat(chance: random.Random, data: bytes) -> bytes:
    start, end = _span(chance, data)
    return data[:end] + data[start:end] * chance.randint(1, 3) + data[end:]


def splice(chance: random.Random, data: bytes) -> bytes:
    other = chance.choice(RECORDINGS)
    start, end = _span(chance, other)
    place = chance.randrange(len(data))
    return data[:place] + other[start:end] + data[place:]


def glue_lines(chance: random.Random, data: bytes) -> bytes:
    return data.replace(b"\n", b"", chance.randint(1, 3))


def shuffle_lines(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def add_junk(chance: random.Random, data: bytes) -> bytes:
    place = chance.randrange(len(data))
    return data[:place] + chance.choice(JUNK) + data[place:]


def swap_a_value(chance: random.Random, data: bytes) -> bytes:
    """Another type in the place of one value: what stands between a colon and the next comma or bracket."""
    start = data.find(b":", chance.randrange(len(data)))
    if start < 0:
        return data
    ends = [end for mark in (b",", b"}", b"]") if (end := data.find(mark, start)) > 0]
    return data[: start + 1] + chance.choice(SWAPS) + data[min(ends, default=len(data)) :]


MUTATIONS: tuple[Mutation, ...] = (
    flip_bytes,
    cut,
    truncate,
    repeat,
    splice,
    glue_lines,
    shuffle_lines,
    add_junk,
    swap_a_value,
    swap_a_value,
)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_mutated_recordings_never_raise_and_lose_nothing(
    shard: int, record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    count = SIZES.fuzz_mutations // SHARDS
    malformed = 0
    for number in range(shard * count, (shard + 1) * count):
        chance = random.Random(number)  # noqa: S311  # a seed that names the case, not a secret
        malformed += examine(mutated(chance), chance, number)
    assert malformed > count // 100, "the mutations no longer break anything"
    record_property("count", f"fuzz {shard + 1}/{SHARDS}: {count:,} mutated recordings, {malformed:,} broken lines")
    with capsys.disabled():
        print(f"\nfuzz {shard + 1}/{SHARDS}: {count:,} mutated recordings, {malformed:,} broken lines")  # noqa: T201


def mutated(chance: random.Random) -> bytes:
    """A part of a recording after one to three mutations; the same for the same seed."""
    whole = chance.choice(RECORDINGS)
    start = chance.randrange(max(1, len(whole) - WINDOW_BYTES))
    data = whole[start : start + WINDOW_BYTES]
    for _ in range(chance.randint(1, 3)):
        data = chance.choice(MUTATIONS)(chance, data) or data
    return data


def examine(data: bytes, chance: random.Random, number: int) -> int:
    """What must hold for any stream; gives the number of lines that could not be read."""
    events = list(decode_stream([data], limit_bytes=LIMIT_BYTES))
    place = chance.randrange(len(data) + 1)
    again = list(decode_stream([data[:place], data[place:]], limit_bytes=LIMIT_BYTES))
    assert [event.raw for event in again] == [event.raw for event in events], number
    assert list(map(type, again)) == list(map(type, events)), number
    assert _bytes_kept(events) == _bytes_sent(data), number
    record = record_events(events)
    read = json.loads(report_json(report_document(record, judge(record, Ending(exit_code=number % 3)))))
    assert read["events"] == len(events), number
    malformed = sum(isinstance(event, Malformed | Skipped) for event in events)
    assert read["parse_errors"] == malformed, number
    return malformed


def _bytes_kept(events: list[Event]) -> bytes:
    return b"".join(_without_blanks(event.raw) for event in events)


def _bytes_sent(data: bytes) -> bytes:
    return b"".join(_without_blanks(line) for line in data.split(b"\n") if len(line) <= LIMIT_BYTES)


def _without_blanks(line: bytes) -> bytes:
    """A line without what transports add to it; one at a time, since two joined ones may make a mark of their own."""
    text = line.replace(b"\xef\xbb\xbf", b"").replace(b"\0", b"").decode("utf-8", "surrogateescape")
    return "".join(text.split()).encode("utf-8", "surrogateescape")


def _span(chance: random.Random, data: bytes) -> tuple[int, int]:
    start = chance.randrange(len(data))
    return start, min(len(data), start + chance.choice((1, 3, 40, 400, 2000)))
