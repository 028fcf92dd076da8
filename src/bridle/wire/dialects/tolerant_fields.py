"""Fields of decoded objects whose types nobody promises: what has the wrong type counts as not there."""

from __future__ import annotations

import math
from typing import Any


def text(value: dict[str, Any], name: str) -> str | None:
    """A string."""
    item = value.get(name)
    return item if isinstance(item, str) else None


def mapping(value: dict[str, Any], name: str) -> dict[str, Any]:
    """An object; empty where there is none."""
    item = value.get(name)
    return item if isinstance(item, dict) else {}


def listing(value: dict[str, Any], name: str) -> list[Any]:
    """A list; empty where there is none."""
    item = value.get(name)
    return item if isinstance(item, list) else []


def whole(value: dict[str, Any], name: str) -> int | None:
    """An integer, and no truth value."""
    item = value.get(name)
    return item if isinstance(item, int) and not isinstance(item, bool) else None


def number(value: dict[str, Any], name: str) -> int | float | None:
    """A finite number, and no truth value."""
    item = value.get(name)
    if isinstance(item, bool) or not isinstance(item, int | float):
        return None
    return item if isinstance(item, int) or math.isfinite(item) else None
