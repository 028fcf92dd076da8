"""The value of one word of a shell command, read from its source text alone.

The parser is not trusted here: a text that is not exactly one word for bash has no value.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

_META: Final = frozenset("|&;()<> \t\n")
_GLOB: Final = frozenset("*?[")
_NAME_START: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME: Final = _NAME_START | frozenset("0123456789")
_SPECIAL: Final = frozenset("0123456789*@#?$!-")
# Bash expands a tilde in a word that looks like an assignment too.
_TILDE_IN_VALUE = re.compile(r"[A-Za-z_]\w*\+?=(?:.*:)?~", re.DOTALL)

PARSE_ERROR: Final = "Parse error"
UNREADABLE: Final = "Contains shell syntax that cannot be read"
IN_STRING: Final = "Contains shell syntax (string) that cannot be statically analyzed"


class Word(msgspec.Struct, frozen=True):
    """One word of a command."""

    text: str
    """The source text."""
    value: str | None
    """What the program receives; None if this is not known before it runs."""
    glob_at: int = -1
    """The position in the value of the first glob character that the shell expands, or -1."""
    doubt: str | None = None
    """Why the value is not known."""
    is_broken: bool = False
    """Whether the text is not one word for bash, so that a part of it may be something else."""

    @property
    def is_plain(self) -> bool:
        """Whether the program receives exactly the value."""
        return self.value is not None and self.glob_at < 0


def plain(value: str) -> Word:
    return Word(value, value)


def read_word(text: str, home: str) -> Word:
    return _Scan(text, home).word()


class _Scan:
    """Scans one word, character by character."""

    def __init__(self, text: str, home: str) -> None:
        self._text, self._home = text, home
        self._place = 0
        self._out: list[str] = []
        self._length = 0
        self._glob_at = -1
        self._has_brace = False
        self._has_comma = False
        self._doubt: str | None = None
        self._is_over = False
        self._is_broken = False

    def word(self) -> Word:
        """Scan up to the end of the text."""
        if not self._text or self._text.startswith("#"):
            return Word(self._text, None, doubt=UNREADABLE, is_broken=True)
        self._tilde()
        if _TILDE_IN_VALUE.match(self._text):
            self._unknown("Contains a tilde that cannot be followed")
        while self._place < len(self._text) and not self._is_over:
            self._step(self._text[self._place])
        if self._has_brace and self._has_comma:
            self._unknown("Brace expansion")
        if self._doubt is not None:
            return Word(self._text, None, doubt=self._doubt, is_broken=self._is_broken)
        return Word(self._text, "".join(self._out), self._glob_at)

    def _unknown(self, doubt: str) -> None:
        """Mark the value as unknown; the scan continues."""
        self._doubt = self._doubt or doubt

    def _ends_here(self, doubt: str) -> None:
        """Stop the scan: only a parser can find the end of the word."""
        self._unknown(doubt)
        self._is_over = True

    def _breaks(self, doubt: str) -> None:
        """Mark the text as not one word."""
        self._doubt, self._is_broken, self._is_over = doubt, True, True

    def _add(self, letters: str) -> None:
        self._out.append(letters)
        self._length += len(letters)

    def _tilde(self) -> None:
        """Expand a leading tilde, if nothing of its prefix is quoted."""
        if not self._text.startswith("~"):
            return
        if self._text.startswith("~+") and self._text[2:3] in ("", "/"):
            self._add(".")  # the shell's folder
            self._place = 2
        elif self._text[1:2] in ("", "/") and self._home:
            self._add(self._home)
            self._place = 1
        else:
            self._unknown("Contains a tilde that cannot be followed")

    def _step(self, letter: str) -> None:
        if letter == "\\":
            self._escape()
        elif letter == "'":
            self._single()
        elif letter == '"':
            self._double()
        elif letter == "$":
            self._dollar(quoted=False)
        elif letter == "`":
            self._ends_here("Contains command_substitution")
        elif self._text.startswith(("<(", ">("), self._place):
            self._ends_here("Contains process_substitution")
        elif letter in _META:
            self._breaks(UNREADABLE)
        else:
            self._unquote(letter)

    def _unquote(self, letter: str) -> None:
        if self._glob_at < 0 and letter in _GLOB and (letter != "[" or "]" in self._text[self._place :]):
            self._glob_at = self._length
        self._has_brace = self._has_brace or letter == "{"
        self._has_comma = self._has_comma or letter == "," or self._text.startswith("..", self._place)
        self._add(letter)
        self._place += 1

    def _escape(self) -> None:
        following = self._text[self._place + 1 : self._place + 2]
        if following in ("", "\n"):
            self._breaks("Contains a line that is continued inside a word")
        self._add(following)
        self._place += 2

    def _single(self) -> None:
        end = self._text.find("'", self._place + 1)
        if end < 0:
            self._breaks(PARSE_ERROR)
            return
        self._add(self._text[self._place + 1 : end])
        self._place = end + 1

    def _double(self) -> None:
        self._place += 1
        while not self._is_over:
            letter = self._text[self._place : self._place + 1]
            if letter == '"':
                self._place += 1
                return
            if letter == "":
                self._breaks(PARSE_ERROR)
            elif letter == "\\":
                self._escape_in_double()
            elif letter == "`":
                self._ends_here(IN_STRING)
            elif letter == "$":
                self._dollar(quoted=True)
            else:
                self._add(letter)
                self._place += 1

    def _escape_in_double(self) -> None:
        following = self._text[self._place + 1 : self._place + 2]
        if following == "":
            self._breaks(PARSE_ERROR)
        elif following != "\n":
            self._add(following if following in '$`"\\' else f"\\{following}")
        self._place += 2

    def _dollar(self, *, quoted: bool) -> None:
        following = self._text[self._place + 1 : self._place + 2]
        name = self._name(self._place + 1)
        if name == "HOME" and self._home and (quoted or self._home_is_one_word()):
            self._add(self._home)
            self._place += 5
        elif name or (following and following in _SPECIAL):
            self._unknown("Contains simple_expansion")
            self._place += 1 + max(len(name), 1)
        elif following == "'" and not quoted:
            self._ansi_c()
        elif following == '"' and not quoted:
            self._unknown("Contains translated_string")
            self._place += 1
        elif following and following in "({[":
            self._ends_here(self._substitution(quoted=quoted))
        else:
            self._add("$")
            self._place += 1

    def _substitution(self, *, quoted: bool) -> str:
        if self._text.startswith("${", self._place):
            return "Contains expansion"
        if self._text.startswith(("$((", "$["), self._place):
            return "Contains arithmetic_expansion"
        return IN_STRING if quoted else "Contains command_substitution"

    def _ansi_c(self) -> None:
        """Skip `$'…'`, which has its own escapes."""
        self._unknown("Contains ansi_c_string")
        self._place += 2
        while self._place < len(self._text) and self._text[self._place] != "'":
            self._place += 2 if self._text[self._place] == "\\" else 1
        if self._place >= len(self._text):
            self._breaks(PARSE_ERROR)
        self._place += 1

    def _name(self, start: int) -> str:
        end = start
        while end < len(self._text) and self._text[end] in (_NAME if end > start else _NAME_START):
            end += 1
        return self._text[start:end]

    def _home_is_one_word(self) -> bool:
        return not (set(self._home) & (_GLOB | {" ", "\t", "\n"}))
