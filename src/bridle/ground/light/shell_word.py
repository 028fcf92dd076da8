"""Quoting for a shell, as `shlex.quote` does; that one imports regular expressions."""

from __future__ import annotations

_PLAIN_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-")


def is_plain(text: str) -> bool:
    """Return whether the text needs no quotes."""
    return bool(text) and _PLAIN_LETTERS.issuperset(text)


def shell_word(text: str) -> str:
    """Quote a text as one word."""
    return text if is_plain(text) else "'" + text.replace("'", "'\\''") + "'"
