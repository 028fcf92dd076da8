"""Shortens values until they fit into a line that the client can read."""

from __future__ import annotations

from typing import Any

from bridle.wire.events.loose_json import to_bytes

# How much of each text is kept, and how many items of each list: the first pair with which the line fits.
_KEPT = ((100_000, 2000), (20_000, 2000), (2000, 500), (200, 100), (40, 20))


def fitting(value: Any, limit_bytes: int, cut: dict[str, str] | None = None) -> bytes | None:
    """Return the value as JSON within the limit, its long texts shortened; None if even that is too long.

    `cut` receives each shortened text and its original.
    """
    for characters, items in _KEPT:
        texts: dict[str, str] = {}
        line = to_bytes(shorten(value, characters, items, texts))
        if len(line) <= limit_bytes:
            if cut is not None:
                cut.update(texts)
            return line
    return None


def shorten(value: Any, limit_characters: int, limit_items: int = 2000, cut: dict[str, str] | None = None) -> Any:
    """Return the value with the middle of every long text cut out, and the end of every long list."""
    if isinstance(value, str):
        if len(value) <= limit_characters:
            return value
        half = limit_characters // 2
        text = f"{value[:half]}\n… {len(value) - 2 * half} characters left out here …\n{value[-half:]}"
        if cut is not None:
            cut[text] = value
        return text
    if isinstance(value, dict):
        return {name: shorten(item, limit_characters, limit_items, cut) for name, item in value.items()}
    if isinstance(value, list):
        return [shorten(item, limit_characters, limit_items, cut) for item in value[:limit_items]]
    return value


def restored(value: Any, cut: dict[str, str]) -> Any:
    """Return the value with the original of every shortened text."""
    if isinstance(value, str):
        return cut.get(value, value)
    if isinstance(value, dict):
        return {name: restored(item, cut) for name, item in value.items()}
    if isinstance(value, list):
        return [restored(item, cut) for item in value]
    return value
