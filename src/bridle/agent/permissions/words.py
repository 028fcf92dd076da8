"""What one word of a shell command stands for, read from its source text alone.

Nothing is taken from a parser's word here: a text that is not exactly one word to bash has no value.
"""

from __future__ import annotations

from typing import Final

import msgspec

_META: Final = frozenset("|&;()<> \t\n")
_GLOB: Final = frozenset("*?[")
_NAME_START: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_NAME: Final = _NAME_START | frozenset("0123456789")
_SPECIAL: Final = frozenset("0123456789*@#?$!-{([")


class Word(msgspec.Struct, frozen=True):
    """One word of a command."""

    text: str
    """As it was written."""
    value: str | None
    """What the program gets; None if that is not known before it runs."""
    glob_at: int = -1
    """Where in the value the first wildcard stands that the shell would expand; -1 if there is none."""
    doubt: str | None = None
    """Why the value is not known."""

    @property
    def is_plain(self) -> bool:
        """Whether the program gets exactly the value."""
        return self.value is not None and self.glob_at < 0


def plain(value: str) -> Word:
    """A word that is known because it was made here."""
    return Word(value, value)


def read_word(text: str, home: str) -> Word:
    """The word that a source text is."""
    return _Scan(text, home).word()


class _Scan:
    """Goes through one word, letter by letter."""

    def __init__(self, text: str, home: str) -> None:
        self._text, self._home = text, home
        self._place = 0
        self._out: list[str] = []
        self._length = 0
        self._glob_at = -1
        self._has_brace = False
        self._has_comma = False
        self._doubt: str | None = None

    def word(self) -> Word:
        """Everything up to the end of the text."""
        if not self._text or self._text.startswith("#"):
            return Word(self._text, None, doubt="Contains a word that cannot be read")
        self._tilde()
        while self._place < len(self._text) and self._doubt is None:
            self._step(self._text[self._place])
        if self._doubt is None and self._has_brace and self._has_comma:
            self._doubt = "Brace expansion"
        if self._doubt is not None:
            return Word(self._text, None, doubt=self._doubt)
        return Word(self._text, "".join(self._out), self._glob_at)

    def _add(self, letters: str) -> None:
        self._out.append(letters)
        self._length += len(letters)

    def _tilde(self) -> None:
        """A tilde in front means a home folder, if nothing of its prefix is quoted."""
        if not self._text.startswith("~"):
            return
        if self._text[1:2] in ("", "/") and self._home:
            self._add(self._home)
            self._place = 1
        else:
            self._doubt = "Contains a tilde that cannot be followed"

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
            self._doubt = "Contains command_substitution"
        elif self._text.startswith(("<(", ">("), self._place):
            self._doubt = "Contains process_substitution"
        elif letter in _META:
            self._doubt = "Contains shell syntax that cannot be read"
        else:
            self._unquoted(letter)

    def _unquoted(self, letter: str) -> None:
        if self._glob_at < 0 and letter in _GLOB and (letter != "[" or "]" in self._text[self._place :]):
            self._glob_at = self._length
        self._has_brace = self._has_brace or letter == "{"
        self._has_comma = self._has_comma or letter == "," or self._text.startswith("..", self._place)
        self._add(letter)
        self._place += 1

    def _escape(self) -> None:
        following = self._text[self._place + 1 : self._place + 2]
        if following in ("", "\n"):
            self._doubt = "Contains a line that is continued inside a word"
        self._add(following)
        self._place += 2

    def _single(self) -> None:
        end = self._text.find("'", self._place + 1)
        if end < 0:
            self._doubt = "Parse error"
            return
        self._add(self._text[self._place + 1 : end])
        self._place = end + 1

    def _double(self) -> None:
        self._place += 1
        while self._doubt is None:
            letter = self._text[self._place : self._place + 1]
            if letter == "":
                self._doubt = "Parse error"
            elif letter == '"':
                self._place += 1
                return
            elif letter == "\\":
                following = self._text[self._place + 1 : self._place + 2]
                if following == "":
                    self._doubt = "Parse error"
                elif following != "\n":
                    self._add(following if following in '$`"\\' else f"\\{following}")
                self._place += 2
            elif letter == "`":
                self._doubt = "Contains shell syntax (string) that cannot be statically analyzed"
            elif letter == "$":
                self._dollar(quoted=True)
            else:
                self._add(letter)
                self._place += 1

    def _dollar(self, *, quoted: bool) -> None:
        following = self._text[self._place + 1 : self._place + 2]
        name = self._name(self._place + 1)
        if name == "HOME" and self._home and (quoted or self._home_is_one_word()):
            self._add(self._home)
            self._place += 5
        elif following == "(" and quoted and not self._text.startswith("$((", self._place):
            self._doubt = "Contains shell syntax (string) that cannot be statically analyzed"
        elif following == "(":
            self._doubt = "Contains command_substitution"
            if self._text.startswith("$((", self._place):
                self._doubt = "Contains arithmetic_expansion"
        elif following == "{":
            self._doubt = "Contains expansion"
        elif name or (following in _SPECIAL and following):
            self._doubt = "Contains simple_expansion"
        elif following == "'" and not quoted:
            self._doubt = "Contains ansi_c_string"
        elif following == '"' and not quoted:
            self._doubt = "Contains translated_string"
        else:
            self._add("$")
            self._place += 1

    def _name(self, start: int) -> str:
        end = start
        while end < len(self._text) and self._text[end] in (_NAME if end > start else _NAME_START):
            end += 1
        return self._text[start:end]

    def _home_is_one_word(self) -> bool:
        return not (set(self._home) & (_GLOB | {" ", "\t", "\n"}))
