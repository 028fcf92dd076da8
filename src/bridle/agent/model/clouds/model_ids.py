"""The model ids of the clouds. An id of a cloud is returned unchanged."""

from __future__ import annotations

# Models without a date in their names that have a version at Bedrock.
_BEDROCK_VERSIONED = frozenset({"claude-opus-4-6"})
_DATE_DIGITS = 8


def bedrock_id(name: str, region: str) -> str:
    """Return the inference profile of a model for a region."""
    if not name.startswith("claude-") or ":" in name:
        return name
    version = "-v1:0" if _date(name) else "-v1" if name in _BEDROCK_VERSIONED else ""
    return f"{_geography(region)}.anthropic.{name}{version}"


def vertex_id(name: str) -> str:
    """Return the Vertex id of a model, with `@` before its date."""
    date = _date(name)
    return f"{name[: -len(date) - 1]}@{date}" if name.startswith("claude-") and date else name


def _geography(region: str) -> str:
    if region.startswith("us-gov-"):
        return "us-gov"
    first = region.partition("-")[0]
    return first if first in ("us", "eu") else "global"


def _date(name: str) -> str:
    last = name.rpartition("-")[2]
    return last if len(last) == _DATE_DIGITS and last.isdigit() else ""
