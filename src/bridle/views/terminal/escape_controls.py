"""Foreign text made safe for a terminal: nothing in it can move the cursor, hide text or reorder it."""

from __future__ import annotations

import re

from bridle.wire.events.surrogates import replace_surrogates

TAB_CELLS = 4

# Colours and links that tools print around their text: removed whole, so that the text stays readable.
_SEQUENCES = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC, DCS and the like: titles, links, clipboard
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x9b[0-?]*[ -/]*[@-~]"  # CSI again, as one character
)
_CONTROL = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible, line breaking and reordering characters
    "\ud800-\udfff"  # lone surrogates, which cannot be encoded
    "\U000e0000-\U000e007f]"  # tags: text that no terminal shows
)
# Joins the parts of one emoji; safe to show.
_JOINER = "\u200d"


def escape_controls(text: str) -> str:
    """Remove escape sequences and make every other control character visible."""
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(TAB_CELLS)
    if "\x1b" in text or "\x9b" in text:
        text = re.sub(_SEQUENCES, "", text)
    return re.sub(_CONTROL, _visible, text)


def escape_line(text: str) -> str:
    """Escape what is printed as one line: a newline, in the name of a file for example, begins no line of its own."""
    return escape_unprintable(text).replace("\n", "\\n")


def escape_unprintable(text: str) -> str:
    """Write every unprintable character but newline and tab as its Python escape; lone surrogates become U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    text = replace_surrogates(text)
    return "".join(
        character
        if character.isprintable() or character in "\n\t"
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def _visible(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character == _JOINER:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"<U+{code:04X}>"
