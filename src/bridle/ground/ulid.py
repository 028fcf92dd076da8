"""ULIDs: ids that sort by creation time and always increase, even if the clock steps back.

A ULID is 26 letters of Crockford's alphabet for 128 bits: 48 of milliseconds, 80 random. The text sorts as the
number does.
"""

from __future__ import annotations

from bridle.errors import JournalBroken

LENGTH = 26
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
RANDOM_BYTES = 10

_VALUES = {letter: value for value, letter in enumerate(ALPHABET)}
_LETTERS = frozenset(ALPHABET)
_LAST = (1 << 128) - 1
# The largest random step after an id that is ahead of the clock: ids cannot be guessed from one another, and 2**48 of
# them fit into one millisecond.
_STEP_BITS = 32


def next_ulid(previous: str, *, now_ms: int, random: bytes) -> str:
    """Return a ULID greater than the previous one: of the present time, or just after it if the clock is behind.

    The clock may have stepped back, or the run may come from a machine whose clock is ahead.
    """
    fresh = (now_ms << 80) | int.from_bytes(random[:RANDOM_BYTES], "big")
    if not previous:
        return _text(fresh)
    number = _number(previous)
    if fresh >> 80 > number >> 80:
        return _text(fresh)
    step = 1 + (int.from_bytes(random[:RANDOM_BYTES], "big") & ((1 << _STEP_BITS) - 1))
    if number + step > _LAST:
        raise JournalBroken(f"no id can follow {previous}: it is one of the largest")
    return _text(number + step)


def milliseconds_of(ulid: str) -> int:
    """Return the time in a ULID."""
    return _number(ulid) >> 80


def is_ulid(text: str) -> bool:
    """Return whether the text is a ULID in our form."""
    return len(text) == LENGTH and text[0] <= "7" and _LETTERS.issuperset(text)


def _number(ulid: str) -> int:
    number = 0
    for letter in ulid:
        number = number << 5 | _VALUES[letter]
    return number


def _text(number: int) -> str:
    return "".join(ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))
