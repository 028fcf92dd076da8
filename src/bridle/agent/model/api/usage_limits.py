"""The usage limit of a subscription, from the headers of a response. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct

_PREFIX = "anthropic-ratelimit-unified-"
# How users know the limits; any other is the usage limit.
_NAMES = {"five_hour": "session", "seven_day": "weekly", "seven_day_opus": "Opus", "seven_day_sonnet": "Sonnet"}


class UsageLimit(Struct, frozen=True):
    """The state of the limit that a response is about."""

    status: str
    """`allowed`, `allowed_warning` or `rejected`."""
    resets_at: int | None = None
    """In seconds since 1970."""
    kind: str | None = None
    """Such as `five_hour`."""

    @property
    def info(self) -> dict[str, object]:
        """The state as `rate_limit_event` has it."""
        found: dict[str, object] = {"status": self.status}
        if self.resets_at is not None:
            found["resetsAt"] = self.resets_at
        if self.kind is not None:
            found["rateLimitType"] = self.kind
        return {**found, "isUsingOverage": False}

    def text(self, now: datetime) -> str:
        """Return what a user reads when the limit is reached; `now` has a time zone."""
        name = _NAMES.get(self.kind or "", "usage")
        return f"You've hit your {name} limit" + (f" · resets {self._reset(now)}" if self.resets_at else "")

    def _reset(self, now: datetime) -> str:
        moment = datetime.fromtimestamp(self.resets_at or 0, now.tzinfo)
        hour = f"{moment.hour % 12 or 12}" + (f":{moment.minute:02}" if moment.minute else "")
        day = f"{moment:%b} {moment.day}, " if moment - now > timedelta(days=1) else ""
        return f"{day}{hour}{'am' if moment.hour < 12 else 'pm'} ({moment.tzname()})"


def usage_limit(headers: Mapping[str, str]) -> UsageLimit | None:
    """Return the limit that the headers tell of; None if they tell of none."""
    status = headers.get(_PREFIX + "status")
    if not status:
        return None
    reset = headers.get(_PREFIX + "reset", "")
    resets_at = int(reset) if reset.isascii() and reset.isdigit() and len(reset) <= 10 else None
    return UsageLimit(status, resets_at, headers.get(_PREFIX + "representative-claim"))
