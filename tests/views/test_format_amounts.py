"""Durations and sizes as text."""

from __future__ import annotations

import pytest

from bridle.views.format_amounts import format_duration, format_size


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.94, "59 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")]
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1,023 bytes"),
        (1536, "1.5 KB"),
        (5 * 1024**2, "5.0 MB"),
        (2**41, "2,048.0 GB"),
    ],
)
def test_a_size_has_one_unit(size: int, text: str) -> None:
    assert format_size(size) == text
