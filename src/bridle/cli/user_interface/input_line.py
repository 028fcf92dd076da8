"""A line that the user types below a live view, key by key. Pure."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

_ENTER = "\r\n"
_ERASE = "\x7f\x08"
_ERASE_LINE = "\x15"
_ESCAPE = "\x1b"
# The Escape key, which sends no more; a key such as an arrow sends a sequence.
ESCAPE_KEY = "\x1b alone"
# A pasted text may be long; an answer is kept whole up to this.
LIMIT_CHARACTERS = 8_000


class InputLine(Struct):
    """A question to the user, and what was typed so far.

    Enter ends it, with an empty text where nothing was typed; the Escape key ends it with an empty text.
    """

    label: str
    on_done: Callable[[str], None]
    text: str = ""
    _in_sequence: bool = False
    """Whether the keys are part of an escape sequence, such as an arrow."""

    def press(self, key: str) -> bool:
        """Apply a key; return whether the line is done."""
        if key == ESCAPE_KEY:
            self.on_done("")
            return True
        if self._in_sequence:
            self._in_sequence = not (key.isalpha() or key == "~") or key == "O"
        elif key == _ESCAPE:
            self._in_sequence = True
        elif key in _ENTER:
            self.on_done(self.text.strip())
            return True
        elif key in _ERASE:
            self.text = self.text[:-1]
        elif key == _ERASE_LINE:
            self.text = ""
        elif key.isprintable() and len(self.text) < LIMIT_CHARACTERS:
            self.text += key
        return False
