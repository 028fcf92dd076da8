"""Lone surrogates: halves of a character that no UTF-8 file, terminal or strict JSON parser accepts.

An agent prints one where it cut an emoji in two. Commands for hooks import this, so it imports nothing.
"""

from __future__ import annotations


def replace_surrogates(text: str) -> str:
    """Return a text with U+FFFD for each lone surrogate; a pair becomes the character that it encodes."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def replace_all_surrogates(value: object) -> object:
    """Return a JSON value with that done in all its texts and names."""
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_all_surrogates(name): replace_all_surrogates(member) for name, member in value.items()}
    return [replace_all_surrogates(member) for member in value] if isinstance(value, (list, tuple)) else value
