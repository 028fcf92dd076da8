"""What the clouds call a model. A name that already is a cloud's own passes as it is."""

from __future__ import annotations

# Of the models without a date in their names, those that Bedrock gave a version.
_BEDROCK_VERSIONED = frozenset({"claude-opus-4-6"})
_DATE_DIGITS = 8


def bedrock_id(name: str, region: str) -> str:
    """The inference profile of a model, for the part of the world that a region lies in."""
    if not name.startswith("claude-") or ":" in name:
        return name
    version = "-v1:0" if _date(name) else "-v1" if name in _BEDROCK_VERSIONED else ""
    return f"{_part_of_world(region)}.anthropic.{name}{version}"


def vertex_id(name: str) -> str:
    """A model with its date set off as Vertex does it."""
    date = _date(name)
    return f"{name[: -len(date) - 1]}@{date}" if name.startswith("claude-") and date else name


def _part_of_world(region: str) -> str:
    if region.startswith("us-gov-"):
        return "us-gov"
    first = region.partition("-")[0]
    return first if first in ("us", "eu") else "global"


def _date(name: str) -> str:
    last = name.rpartition("-")[2]
    return last if len(last) == _DATE_DIGITS and last.isdigit() else ""
