"""Curly quotes: models write straight ones where a file has curly ones, and mean the same place."""

from __future__ import annotations

_STRAIGHT = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
_OPENERS = frozenset(" \t\n\r([{\u2014\u2013")


def find_alike(text: str, wanted: str) -> str | None:
    """What stands in the text for the wanted words: themselves, or the same with curly quotes."""
    if wanted in text:
        return wanted
    # Each curly quote becomes one straight one, so that places stay places.
    position = text.translate(_STRAIGHT).find(wanted.translate(_STRAIGHT))
    return None if position < 0 else text[position : position + len(wanted)]


def in_style_of(found: str, wanted: str, new: str) -> str:
    """New words with curly quotes where the found ones had them and the wanted ones had not."""
    if found == wanted:
        return new
    if "\u201c" in found or "\u201d" in found:
        new = _curled(new, '"', "\u201c", "\u201d")
    if "\u2018" in found or "\u2019" in found:
        new = _curled(new, "'", "\u2018", "\u2019")
    return new


def _curled(text: str, straight: str, opening: str, closing: str) -> str:
    made: list[str] = []
    for index, letter in enumerate(text):
        if letter != straight:
            made.append(letter)
        elif straight == "'" and index and text[index - 1].isalpha() and text[index + 1 : index + 2].isalpha():
            made.append(closing)  # an apostrophe
        else:
            made.append(opening if not index or text[index - 1] in _OPENERS else closing)
    return "".join(made)
