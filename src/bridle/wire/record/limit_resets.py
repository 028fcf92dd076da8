"""The time at which a limit resets, parsed from an agent's message. Pure: the caller passes clock and time zone.

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

# No limit resets later than in a month; a time further away was misread.
MAX_WAIT = timedelta(days=40)

# Only this much of a text is searched: an agent's error is a line or two, or a few kilobytes of JSON.
_TEXT_CHARACTERS = 64 * 1024
# A response quoted in a text may itself be quoted: any run of quotes counts as one.
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
# A time that passed less than this ago is not meant for the next day: the message is simply old.
_JUST_PASSED = timedelta(hours=1)


def limit_reset_time(
    resets_at: float | None, text: str | None, *, now: datetime, local: tzinfo = UTC
) -> datetime | None:
    """Return the reset time that the account reported (a Unix time), else the one in the text."""
    if resets_at is not None and now.timestamp() < resets_at <= (now + MAX_WAIT).timestamp():
        return datetime.fromtimestamp(resets_at, UTC)
    return reset_time(text, now=now, local=local)


def reset_time(text: str | None, *, now: datetime, local: tzinfo = UTC) -> datetime | None:
    """Return the future time that a text names, in UTC, or None."""
    normalized = _QUOTED.sub('"', " ".join((text or "")[:_TEXT_CHARACTERS].split()))
    for moment in _candidates(normalized, now.astimezone(UTC), local):
        if now < moment <= now + MAX_WAIT:
            return moment.astimezone(UTC)
    return None


def _candidates(text: str, now: datetime, local: tzinfo) -> Iterator[datetime]:
    """Yield every time that could be meant, exact ones first."""
    for match in _EPOCH.finditer(text):
        seconds = int(match[1])
        yield datetime.fromtimestamp(seconds / 1000 if seconds > 10**11 else seconds, UTC)
    for match in _SECONDS.finditer(text):
        yield now + timedelta(seconds=float(match[1]) / (1000 if (match[2] or "").lower() == "ms" else 1))
    for match in _ISO.finditer(text):
        yield from _iso(match, local)
    for match in _SPAN.finditer(text):
        parts = _SPAN_PART.findall(match[1])
        yield now + timedelta(seconds=sum(float(number) * _UNITS[unit.lower()] for number, unit in parts))
    for match in _TIME.finditer(text):
        yield from _clock_time(match, now, _zone(match["zone"], local))


def _iso(match: re.Match[str], local: tzinfo) -> Iterator[datetime]:
    zone = (match[2] or "").upper()
    try:
        moment = datetime.fromisoformat(match[1] + ("+00:00" if zone in ("Z", "UTC") else zone))
    except ValueError:
        return  # such as month 13
    yield moment if moment.tzinfo is not None else moment.replace(tzinfo=local)


def _clock_time(match: re.Match[str], now: datetime, zone: tzinfo) -> Iterator[datetime]:
    """Yield a time of day on the named day, else its next occurrence."""
    hour, minute, half = int(match["hour"]), int(match["minute"] or 0), (match["half"] or "")[:1].lower()
    if not half and match["minute"] is None:
        return  # a bare number is not a time
    if half:
        if not 1 <= hour <= 12:
            return
        hour = hour % 12 + (12 if half == "p" else 0)
    today = now.astimezone(zone).replace(tzinfo=None)
    try:
        clock = today.replace(hour=hour, minute=minute, second=0, microsecond=0)
        days = list(_days(match, clock, today))
    except ValueError:
        return  # such as hour 25, or 31 June
    for day in days:
        # An hour that occurs twice when clocks change: first the earlier, then the later.
        for fold in (0, 1):
            moment = day.replace(tzinfo=zone, fold=fold).astimezone(UTC)
            if moment > now:
                yield moment
                return
            if now - moment < _JUST_PASSED:
                return


def _days(match: re.Match[str], clock: datetime, today: datetime) -> Iterator[datetime]:
    if match["month"]:
        month, day = _MONTHS.index(match["month"].lower()) + 1, int(match["day"])
        years = [int(match["year"])] if match["year"] else [today.year, today.year + 1]
        yield from (clock.replace(year=year, month=month, day=day) for year in years)
    elif match["weekday"]:
        ahead = (_DAYS.index(match["weekday"].lower()) - today.weekday()) % 7
        yield from (clock + timedelta(days=ahead + week) for week in (0, 7))
    elif match["tomorrow"]:
        yield clock + timedelta(days=1)
    else:
        yield from (clock + timedelta(days=ahead) for ahead in (0, 1))


def _zone(name: str | None, local: tzinfo) -> tzinfo:
    """Return the zone of that name, or the local one if it is missing or unknown."""
    if name is None:
        return local
    if name.upper() in ("UTC", "GMT"):
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # no such zone, or no zone database
        return local
