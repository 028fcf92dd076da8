from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest

from bridle.ground import clock

MOMENT = datetime(2026, 11, 15, 2, 46, 55, 123_999, tzinfo=UTC)


def test_now_knows_that_it_is_utc() -> None:
    assert clock.now().utcoffset() == timedelta(0)


def test_a_stamp_fits_a_file_name_and_keeps_milliseconds() -> None:
    assert clock.stamp(MOMENT) == "20261115T024655.123Z"


def test_an_iso_moment_from_another_zone_is_printed_in_utc() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=9)))
    assert clock.iso(elsewhere) == "2026-11-15T02:46:55.123Z"
    assert clock.stamp(elsewhere) == clock.stamp(MOMENT)


@pytest.mark.parametrize("read", [clock.monotonic, clock.since_boot])
def test_a_clock_that_cannot_be_set_never_goes_back(read: Callable[[], float]) -> None:
    readings = [read() for _ in range(1000)]
    assert readings == sorted(readings)


def test_a_steady_clock_begins_with_the_system_clock_and_goes_on_by_itself() -> None:
    before = clock.now()
    steady = clock.SteadyClock()
    first, boot = steady.now(), clock.since_boot()
    assert before <= first
    later = steady.now()
    assert timedelta(0) <= later - first <= timedelta(seconds=clock.since_boot() - boot + 1)


def test_a_steady_clock_begins_no_earlier_than_a_moment_that_was_recorded() -> None:
    recorded = clock.now() + timedelta(days=3)
    assert clock.SteadyClock(not_before=recorded).now() >= recorded
    assert clock.SteadyClock(not_before=clock.now() - timedelta(days=3)).now() < recorded
