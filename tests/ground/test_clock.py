from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

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


def test_monotonic_never_goes_back() -> None:
    readings = [clock.monotonic() for _ in range(1000)]
    assert readings == sorted(readings)
