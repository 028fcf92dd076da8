"""Characters that look like others: letters of other scripts, other colons and spaces, invisible ones. Pure."""

from __future__ import annotations

import html
import unicodedata

# Letters of the words in a plan, and what looks like them in Cyrillic, Greek, Armenian and small capitals.
# Compatibility forms, such as letters of full width, and accents are found by normalization.
_LETTERS = {
    "A": "\u0410\u0391",
    "C": "\u0421\u03f9",
    "E": "\u0415\u0395",
    "H": "\u041d\u0397",
    "I": "\u0406\u0399",
    "K": "\u041a\u039a",
    "M": "\u041c\u039c",
    "N": "\u039d",
    "P": "\u0420\u03a1",
    "S": "\u0405",
    "T": "\u0422\u03a4",
    "U": "\u054d",
    "Y": "\u0423\u03a5\u04ae",
    "a": "\u0430\u0251\u03b1\u1d00",
    "c": "\u0441\u03f2\u1d04",
    "d": "\u0501\u1d05",
    "e": "\u0435\u0454\u1d07",
    "h": "\u04bb\u0570\u043d\u029c",
    "i": "\u0456\u0131\u026a\u03b9",
    "k": "\u043a\u03ba\u1d0b",
    "m": "\u043c\u1d0d",
    "n": "\u0578\u0274\u043f",
    "p": "\u0440\u03c1\u1d18",
    "s": "\u0455\ua731",
    "t": "\u0442\u03c4\u1d1b",
    "u": "\u057d\u03c5\u1d1c",
    "y": "\u0443\u04af\u028f\u03b3",
}
_COLONS = "\uff1a\ufe55\ufe13\u02d0\u02d1\u2236\ua789\u0589\u1361\u05c3\u0703\u1804\ufe30"
_PLAIN = {ord(other): letter for letter, others in {**_LETTERS, ":": _COLONS}.items() for other in others}
_INVISIBLE = frozenset({"Cf", "Mn", "Me"})
_SPACES = frozenset({"Zs", "Zl", "Zp"})
# A word at the beginning of a line ends before.
_BEGINNING_CHARACTERS = 60


def simplify(text: str) -> tuple[str, str | None]:
    """Return the text in plain characters without HTML's entities; describe the first other one at its beginning."""
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        return text, None
    others = (one for one in text[:_BEGINNING_CHARACTERS] if _simplify_one(one) != one)
    odd = next(others, None)
    return "".join(map(_simplify_one, text)), None if odd is None else describe(odd)


def describe(character: str) -> str:
    """Return the number and the name of a character."""
    return f"U+{ord(character):04X} ({unicodedata.name(character, 'without a name')})"


def find_invisible(text: str) -> str | None:
    """Describe the first character that is invisible, or a space that no shell knows as one."""
    if text.isascii():
        return None
    unseen = (one for one in text if not one.isascii() and unicodedata.category(one) in _SPACES | {"Cf"})
    found = next(unseen, None)
    return None if found is None else describe(found)


def _simplify_one(character: str) -> str:
    if character.isascii():
        return character
    if (plain := _PLAIN.get(ord(character))) is not None:
        return plain
    if (category := unicodedata.category(character)) in _INVISIBLE | _SPACES:
        return "" if category in _INVISIBLE else " "
    parts = unicodedata.normalize("NFKD", character)
    letters = "".join(_PLAIN.get(ord(part), part) for part in parts if unicodedata.category(part) not in _INVISIBLE)
    return letters if letters.isascii() else character
