"""Durations as text."""

from __future__ import annotations

import pytest

from bridle.views.format_amounts import format_duration


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.04, "0.0 s"), (9.94, "9.9 s"), (59.94, "59 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")]
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
