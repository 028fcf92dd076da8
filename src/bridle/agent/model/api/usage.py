"""What an answer has cost in tokens, put together from the figures that come along with it."""

from __future__ import annotations

from typing import Any

# A server that does not know these figures at the end sends zeros; what it said at the beginning stays true.
_KEPT_WHEN_ZERO = frozenset({"input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"})


def merged(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """The figures of `message_delta` over those of `message_start`: they are totals, not additions."""
    usage = dict(earlier)
    for key, value in later.items():
        if value is None or (key in _KEPT_WHEN_ZERO and not value and usage.get(key)):
            continue
        usage[key] = {**usage[key], **value} if isinstance(value, dict) and isinstance(usage.get(key), dict) else value
    return usage
