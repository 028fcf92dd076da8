"""When a limit is lifted, out of the words in which an agent says so. Pure: the clock and the person's zone are given.

Claude AI usage limit reached|1749924000         resets 3pm (America/New_York)       resets at 10:30am
try again in 5 days 22 hours 11 minutes          try again at Jul 5th, 2026 8:19 PM  resets_at": 1777936568
Your quota will reset after 14h22m10s.           resets Oct 9 at 10am (Asia/Seoul)   retry in 34.07s
resets 2026-11-15T14:30:00Z
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

# No account waits longer than a month for anything; what is further away was misread.
MAX_WAIT = timedelta(days=40)

# What is looked at of a text: an agent's error is a line or two, or a few kilobytes of JSON.
_TEXT_CHARACTERS = 64 * 1024
# An answer of the endpoint that is quoted in a text may be quoted again around it: any run of quotes is one.
_QUOTED = re.compile(r"[\\\"']+")
_QUOTES = '"?'
_LEAD = (
    r"(?:resets?|renews?|again|available|until|retry|lifted)(?: (?:will|be|is|are)){0,3}"
    r"(?: (?:at|on|by|after|in))?(?: ?:)? "
)
_EPOCH = re.compile(
    rf"(?:\||{_QUOTES}(?:resets?_?at|quotaResetTimeStamp|unified-reset){_QUOTES} ?[:=] ?{_QUOTES})(\d{{10,13}})(?!\d)",
    re.IGNORECASE,
)
_ISO = re.compile(r"(?<!\d)(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d* ?(Z|UTC|[+-]\d\d:?\d\d)?")
_SECONDS = re.compile(
    rf"(?:resets?_in_seconds|retry[-_]?after|retryDelay|quotaResetDelay){_QUOTES} ?[:=] ?{_QUOTES}"
    r"(\d{1,8}(?:\.\d{1,9})?) ?(ms|s)?",
    re.IGNORECASE,
)
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0}
_PART = r"\d{1,6}(?:\.\d{1,9})? ?(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|d|h|m|s)(?![a-z])"
_SPAN = re.compile(
    rf"(?:\b(?:in|after|for) (?:about |approximately )?)((?:{_PART}(?:,? ?(?:and )?)?){{1,4}})", re.IGNORECASE
)
_SPAN_PART = re.compile(r"(\d{1,6}(?:\.\d{1,9})?) ?([dhms])", re.IGNORECASE)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME = re.compile(
    _LEAD + r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>20\d\d))?,? (?:at )?"
    r"|(?P<weekday>mon|tue|wed|thu|fri|sat|sun)[a-z]*,? (?:at )?|(?P<tomorrow>tomorrow),? (?:at )?"
    r"|today,? (?:at )?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)? ?(?P<half>[ap]\.?m\b\.?)?"
    r"(?: ?\(?(?P<zone>[A-Z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+){1,2}|UTC|GMT)\)?)?",
    re.IGNORECASE,
)
# A moment that is over for no longer than this was named before it came: nobody means that of the next day.
_JUST_OVER = timedelta(hours=1)


def limit_reset_time(told: float | None, text: str | None, *, now: datetime, local: tzinfo = UTC) -> datetime | None:
    """The moment that the account itself has told, in seconds since 1970, else that of the words."""
    if told is not None and now.timestamp() < told <= (now + MAX_WAIT).timestamp():
        return datetime.fromtimestamp(told, UTC)
    return reset_time(text, now=now, local=local)


def reset_time(text: str | None, *, now: datetime, local: tzinfo = UTC) -> datetime | None:
    """The moment that a text names, in UTC; None where it names none that is still to come."""
    words = _QUOTED.sub('"', " ".join((text or "")[:_TEXT_CHARACTERS].split()))
    for moment in _named(words, now.astimezone(UTC), local):
        if now < moment <= now + MAX_WAIT:
            return moment.astimezone(UTC)
    return None


def _named(words: str, now: datetime, local: tzinfo) -> Iterator[datetime]:
    """Every moment that could be meant: exact ones first."""
    for found in _EPOCH.finditer(words):
        seconds = int(found[1])
        yield datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)
    for found in _SECONDS.finditer(words):
        yield now + timedelta(seconds=float(found[1]) / (1000 if (found[2] or "").lower() == "ms" else 1))
    for found in _ISO.finditer(words):
        yield from _iso(found, local)
    for found in _SPAN.finditer(words):
        parts = _SPAN_PART.findall(found[1])
        yield now + timedelta(seconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in parts))
    for found in _TIME.finditer(words):
        yield from _of_the_clock(found, now, _zone(found["zone"], local))


def _iso(found: re.Match[str], local: tzinfo) -> Iterator[datetime]:
    zone = (found[2] or "").upper()
    try:
        moment = datetime.fromisoformat(found[1] + ("+00:00" if zone in ("Z", "UTC") else zone))
    except ValueError:
        return  # the thirteenth month
    yield moment if moment.tzinfo is not None else moment.replace(tzinfo=local)


def _of_the_clock(found: re.Match[str], now: datetime, zone: tzinfo) -> Iterator[datetime]:
    """A time of day on the day that is named, else on the next day on which it comes."""
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), (found["half"] or "")[:1].lower()
    if not half and found["minute"] is None:
        return  # a bare number is no time
    if half:
        if not 1 <= hour <= 12:
            return
        hour = hour % 12 + (12 if half == "p" else 0)
    today = now.astimezone(zone).replace(tzinfo=None)
    try:
        clock = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
        days = list(_days(found, clock, today))
    except ValueError:
        return  # the 25th hour, or the 31st of a month that has none
    for day in days:
        # An hour that the change of the clocks brings twice is first the earlier, then the later one.
        for fold in (0, 1):
            moment = day.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            if moment > now:
                yield moment
                return
            if now - moment < _JUST_OVER:
                return


def _days(found: re.Match[str], clock: datetime, today: datetime) -> Iterator[datetime]:
    if found["month"]:
        month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
        years = [int(found["year"])] if found["year"] else [today.year, today.year + 1]
        yield from (clock.replace(year=year, month=month, day=day) for year in years)
    elif found["weekday"]:
        ahead = (_DAYS.index(found["weekday"].lower()) - today.weekday()) % 7
        yield from (clock + timedelta(days=ahead + week) for week in (0, 7))
    elif found["tomorrow"]:
        yield clock + timedelta(days=1)
    else:
        yield from (clock + timedelta(days=ahead) for ahead in (0, 1))


def _zone(name: str | None, local: tzinfo) -> tzinfo:
    """The zone of that name; the person's own where the text has none, or one that this machine does not know."""
    if name is None:
        return local
    if name.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # there is none of that name, or no list of zones at all
        return local
