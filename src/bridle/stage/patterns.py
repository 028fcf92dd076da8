"""Regular expressions of a script and the `${name}` places in its strings."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACE = re.compile(r"\$(?P<escaped>\$)?\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")


@functools.lru_cache(maxsize=1024)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern with a dot that also means a line's end; raise `re.error` if it is not one."""
    try:
        # Python warns of patterns that may change their meaning one day; the script's author cannot see that.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, re.DOTALL)
    except (OverflowError, RecursionError) as error:
        raise re.error(f"too large: {error}") from error


def places(value: Any) -> Iterator[str]:
    """Yield each name that a string anywhere in the value asks for."""
    if isinstance(value, str):
        for place in _PLACE.finditer(value):
            if place["escaped"] is None:
                yield place["name"]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from places(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from places(item)


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Return the value with each `${name}` replaced and each `$${name}` made literal."""
    if isinstance(value, str):
        return _PLACE.sub(lambda place: place[0][1:] if place["escaped"] else values[place["name"]], value)
    if isinstance(value, Mapping):
        return {key: filled(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [filled(item, values) for item in value]
    return value
