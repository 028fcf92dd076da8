"""The one order of keys of stored values: as `localeCompare` sorts them, integer keys first.

The other implementation of the format sorts keys this way; Bridle does the same, so that both write the same bytes.
ASCII is sorted exactly; other letters by their base letter if they have one, else after all ASCII.
"""

from __future__ import annotations

from bridle.ground.light.abc_names import Mapping

# Primary order of ASCII in the root collation: space, punctuation, symbols, digits, letters.
_PRIMARY = {letter: rank for rank, letter in enumerate("\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789")}
_PRIMARY |= {chr(ord("a") + offset): 100 + offset for offset in range(26)}
_PRIMARY |= {chr(ord("A") + offset): 100 + offset for offset in range(26)}
_BEHIND_ASCII = 1000
# JavaScript objects list integer keys first, in numeric order.
_LAST_INDEX = 2**32 - 2

TextKey = tuple[tuple[int, ...], tuple[str, ...], tuple[bool, ...]]


def canonical(value: object) -> object:
    """Return the value with the keys of every object in the format's order."""
    if isinstance(value, dict):
        return canonical_object(value)
    if isinstance(value, (list, tuple)):
        return [canonical(item) for item in value]
    return value


def canonical_object(value: Mapping[str, object]) -> dict[str, object]:
    """Return the object with its keys, and those of nested objects, in the format's order."""
    return {key: canonical(value[key]) for key in sorted(value, key=_key_order)}


def text_order(text: str) -> TextKey:
    """Return a sort key: by letter, then by accent, then lower case first."""
    if not text.isascii():
        return _order_of_any(text)
    letters = [letter for letter in text if letter in _PRIMARY]  # control characters are ignored
    return tuple(map(_PRIMARY.__getitem__, letters)), (), tuple(map(str.isupper, letters))


def _key_order(key: str) -> tuple[bool, int, TextKey, str]:
    """Return a sort key that is unique: the key itself comes last, for keys that differ in ignored characters."""
    is_digits = key.isascii() and key.isdigit() and len(key) <= len(str(_LAST_INDEX))
    if is_digits and (key == "0" or key[0] != "0") and int(key) <= _LAST_INDEX:
        return (False, int(key), ((), (), ()), key)
    return (True, 0, text_order(key), key)


def _order_of_any(text: str) -> TextKey:
    import unicodedata

    primary: list[int] = []
    accents: list[str] = []
    upper: list[bool] = []
    for letter in unicodedata.normalize("NFD", text):
        if unicodedata.combining(letter) and accents:
            accents[-1] += letter
        elif letter in _PRIMARY or not letter.isascii():
            primary.append(_PRIMARY.get(letter, _BEHIND_ASCII + ord(letter.lower()[0])))
            accents.append("")
            upper.append(letter.isupper())
    return tuple(primary), tuple(accents), tuple(upper)
