"""Names that match one of many patterns with `*`."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache


@lru_cache(maxsize=64)
def matches_any(patterns: tuple[str, ...]) -> Callable[[str], object]:
    """Return a function that returns something true for a name which one of the patterns matches, as `fnmatchcase`."""
    if not patterns:
        return lambda _name: None
    return re.compile("|".join(map(translate, patterns))).match
