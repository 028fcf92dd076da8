"""The moment at which a limit is lifted, out of every form in which agents say it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.wire.record.limit_resets import MAX_WAIT, reset_time

# A Sunday; in New York it is 07:30, in Tokyo 21:30.
NOW = datetime(2026, 11, 15, 12, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def utc(day: int, hour: int, minute: int = 0, month: int = 11) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        (f"Claude AI usage limit reached|{int(NOW.timestamp()) + 90}", NOW + timedelta(seconds=90)),
        (f"usage limit reached|{(int(NOW.timestamp()) + 90) * 1000}", NOW + timedelta(seconds=90)),
        ("5-hour limit reached · resets 3pm (America/New_York)", utc(15, 20)),
        ("You've hit your session limit · resets 8:30pm (Asia/Tokyo)", utc(16, 11, 30)),
        ("You've hit your limit · resets 10:40pm (Asia/Tokyo)", utc(15, 13, 40)),
        ("Claude usage limit reached. Your limit will reset at 1pm (Etc/GMT+5).", utc(15, 18)),
        ("Weekly limit reached · resets Nov 18, 10am (Asia/Seoul)", utc(18, 1)),
        ("Weekly limit reached · resets Nov 18 at 10am (Asia/Seoul)", utc(18, 1)),
        ("Limit reached · resets Wed 9:15am (UTC)", utc(18, 9, 15)),
        ("Limit reached · resets tomorrow at 9am (UTC)", utc(16, 9)),
        ("Limits will reset at 14:15. View your usage details.", utc(15, 13, 15)),
        ("usage limit, resets at 10:30am", utc(16, 9, 30)),
        ("resets 12am (UTC)", utc(16, 0)),
        ("resets 12:45pm (UTC)", utc(15, 12, 45)),
        ("You've hit your usage limit. Upgrade to Pro (https://x.test/p) or try again in 5 days 22 hours 11 minutes.",
         NOW + timedelta(days=5, hours=22, minutes=11)),
        ("You've hit your usage limit. Try again in 1 hour 3 minutes.", NOW + timedelta(hours=1, minutes=3)),
        ("You've hit your usage limit. Upgrade, or try again at Nov 20th, 2026 8:19 PM.", utc(20, 19, 19)),
        ("You've hit your usage limit, or try again at Nov 20, 2026, 7:38 AM.", utc(20, 6, 38)),
        ("You've hit your usage limit. Try again at 2:12 PM.", utc(15, 13, 12)),
        ('{"type":"usage_limit_reached","resets_at":1794746000,"resets_in_seconds":13872}',
         datetime.fromtimestamp(1794746000, UTC)),
        (r'{\"error\":{\"resets_in_seconds\":600}}', NOW + timedelta(minutes=10)),
        ("Please retry in 34.5s.", NOW + timedelta(seconds=34.5)),
        ("You have exhausted your capacity. Your quota will reset after 14h22m10s.",
         NOW + timedelta(hours=14, minutes=22, seconds=10)),
        ('"retryDelay": "45s"', NOW + timedelta(seconds=45)),
        ("limit resets 2026-11-15T18:00:00Z", utc(15, 18)),
        ("limit resets 2026-11-15T18:00:00.250+02:00", utc(15, 16) + timedelta(milliseconds=250)),
        ("limit resets at 2026-11-15 18:00", utc(15, 17)),
    ],
)  # fmt: skip
def test_every_known_form_is_parsed(text: str, moment: datetime) -> None:
    assert reset_time(text, now=NOW, local=BERLIN) == moment


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "API Error: 529 overloaded",
        "You've hit your usage limit. Upgrade, or wait for limits to reset (every 5h and every week.).",
        "usage limit reached|123",
        f"usage limit reached|{int(NOW.timestamp()) - 5}",
        "resets 25pm",
        "resets at 31:99",
        "resets 7",
        "resets Feb 31 at 9am (UTC)",
        "resets 2026-13-45T99:00:00Z",
        "try again in 900 days",
    ],
)
def test_a_text_without_a_future_time_has_no_reset_time(text: str | None) -> None:
    assert reset_time(text, now=NOW, local=BERLIN) is None


def test_a_time_that_has_just_passed_is_not_that_of_the_next_day() -> None:
    assert reset_time("resets 12:30pm (UTC)", now=NOW) is None
    assert reset_time("resets 12:00pm (UTC)", now=NOW) is None
    assert reset_time("resets 11:15am (UTC)", now=NOW) == utc(16, 11, 15)


def test_an_unknown_zone_is_the_local_one() -> None:
    assert reset_time("resets 3pm (Middle/Earth)", now=NOW, local=BERLIN) == utc(15, 14)
    assert reset_time("resets 3pm", now=NOW, local=timezone(timedelta(hours=-5))) == utc(15, 20)


def test_a_reset_time_is_right_across_daylight_saving_changes() -> None:
    evening = datetime(2026, 3, 7, 23, tzinfo=ZoneInfo("America/New_York"))
    assert reset_time("resets 3am (America/New_York)", now=evening) == datetime(2026, 3, 8, 7, tzinfo=UTC)
    # The hour from one to two comes twice on the first of November: the second is meant once the first is over.
    night = datetime(2026, 11, 1, 0, 30, tzinfo=ZoneInfo("America/New_York"))
    assert reset_time("resets 1:15am (America/New_York)", now=night) == datetime(2026, 11, 1, 5, 15, tzinfo=UTC)
    # There is no half past two on the eighth of March.
    gap = reset_time("resets 2:30am (America/New_York)", now=evening)
    assert gap is not None
    assert datetime(2026, 3, 8, 6, tzinfo=UTC) <= gap <= datetime(2026, 3, 8, 8, tzinfo=UTC)


PIECES = ["resets", " at ", "try again in ", "3pm", "12:99", "|", "9" * 13, "days", " 4 ", "(", "Asia/Seoul", ")", "-",
          "2026-11-16T10:00", "Z", "resets_at\":", "999999", " ", "Feb 29 ", "9am"]  # fmt: skip


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_no_text_raises(text: str) -> None:
    result = reset_time(text, now=NOW, local=BERLIN)
    assert result is None or NOW < result <= NOW + MAX_WAIT
