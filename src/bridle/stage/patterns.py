"""Regular expressions of a script, and the `${name}` placeholders in its strings."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACEHOLDER = re.compile(r"\$(?P<escaped>\$)?\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")


@functools.lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern whose dot matches newlines too; raise `re.error` if it is invalid."""
    try:
        # Python warns of patterns whose meaning may change; the script's author cannot see the warning.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(pattern, re.DOTALL)
    except (OverflowError, RecursionError) as error:
        raise re.error(f"too large: {error}") from error


def placeholders(value: Any) -> Iterator[str]:
    """Yield the names of the placeholders in all strings of a value."""
    if isinstance(value, str):
        for match in _PLACEHOLDER.finditer(value):
            if match["escaped"] is None:
                yield match["name"]
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from placeholders(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from placeholders(item)


def fill_placeholders(value: Any, values: Mapping[str, str]) -> Any:
    """Replace each `${name}` in a value, and unescape each `$${name}`."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: match[0][1:] if match["escaped"] else values[match["name"]], value)
    if isinstance(value, Mapping):
        return {key: fill_placeholders(item, values) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill_placeholders(item, values) for item in value]
    return value
