"""Shortens values until they fit into a line that the client can read."""

from __future__ import annotations

from typing import Any

from bridle.wire.events.loose_json import to_bytes

# How much of each text is kept, and how many items of each list: the first pair with which the line fits.
_KEPT = ((100_000, 2000), (20_000, 2000), (2000, 500), (200, 100), (40, 20))


def shorten_to_fit(value: Any, limit_bytes: int, cut: dict[str, Any] | None = None) -> bytes | None:
    """Return the value as JSON within the limit, its long texts and lists shortened; None if even that is too long.

    `cut` receives the originals, for `restore`.
    """
    for characters, items in _KEPT:
        originals: dict[str, Any] = {}
        line = to_bytes(shorten(value, characters, items, originals))
        if len(line) <= limit_bytes:
            if cut is not None:
                cut.update(originals)
            return line
    return None


def shorten(value: Any, limit_characters: int, limit_items: int = 2000, cut: dict[str, Any] | None = None) -> Any:
    """Return the value with the middle of every long text cut out, and the end of every long list.

    With `cut`, different values stay different.
    """
    if isinstance(value, str):
        return value if len(value) <= limit_characters else _shortened_text(value, limit_characters, cut)
    if isinstance(value, dict):
        return {name: shorten(item, limit_characters, limit_items, cut) for name, item in value.items()}
    if isinstance(value, list):
        items = [shorten(item, limit_characters, limit_items, cut) for item in value[:limit_items]]
        return items if len(value) < limit_items else _shortened_list(value, items, cut)
    return value


def restore(value: Any, cut: dict[str, Any]) -> Any:
    """Return the value with the original of every shortened text and list."""
    if isinstance(value, str):
        return cut.get(value, value)
    if isinstance(value, dict):
        return {name: restore(item, cut) for name, item in value.items()}
    if isinstance(value, list):
        return cut[key] if (key := _key(value)) in cut else [restore(item, cut) for item in value]
    return value


def _shortened_text(text: str, limit_characters: int, cut: dict[str, Any] | None) -> str:
    half = limit_characters // 2
    missing = f"{len(text) - 2 * half} characters left out here"
    shown = f"{text[:half]}\n… {missing} …\n{text[-half:]}"
    if cut is None:
        return shown
    number = 1
    while cut.get(shown, text) != text:  # another text with the same beginning, end and length
        number += 1
        shown = f"{text[:half]}\n… {missing} ({number}) …\n{text[-half:]}"
    cut[shown] = text
    return shown


def _shortened_list(whole: list[Any], items: list[Any], cut: dict[str, Any] | None) -> list[Any]:
    if cut is not None:
        while items and cut.get(_key(items), whole) != whole:  # another list with the same beginning
            items = items[:-1]
        cut[_key(items)] = whole
    return items


def _key(items: list[Any]) -> str:
    """Return a list as JSON, which no shortened text is."""
    return to_bytes(items).decode()
