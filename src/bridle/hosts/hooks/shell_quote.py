"""Texts as words of a shell's command line, without `shlex`, whose import brings regular expressions along."""

from __future__ import annotations

_PLAIN_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-")


def is_plain(text: str) -> bool:
    """Whether a shell takes the text as it is."""
    return bool(text) and _PLAIN_LETTERS.issuperset(text)


def shell_word(text: str) -> str:
    """A text as one word, whatever is in it."""
    return text if is_plain(text) else "'" + text.replace("'", "'\\''") + "'"
