"""Splits the words of a command into known options and names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from bridle.agent.permissions.bash.words import Word, plain


class Options(msgspec.Struct, frozen=True):
    """The options of one program, from the table."""

    flags: frozenset[str]
    with_value: frozenset[str]
    with_path: frozenset[str]
    with_equals: frozenset[str]
    takes_numbers: bool
    takes_all: bool


class Arguments(msgspec.Struct, frozen=True):
    """The words of a command, split into names and options."""

    names: tuple[Word, ...]
    """Words that are not options."""
    paths: tuple[Word, ...]
    """Values of options that name files to read."""
    options: frozenset[str]
    values: tuple[tuple[str, str], ...] = ()
    """Options with their values, in order."""


@lru_cache(maxsize=128)
def known_options(text: str) -> Options:
    """Parse the options of a line of the table."""
    signs = text.split()
    return Options(
        flags=frozenset(sign for sign in signs if sign[-1] not in ":=?@") | {s[:-1] for s in signs if s.endswith("?")},
        with_value=frozenset(sign[:-1] for sign in signs if sign[-1] in ":="),
        with_path=frozenset(sign[:-1] for sign in signs if sign.endswith("@")),
        with_equals=frozenset(sign[:-1] for sign in signs if sign.endswith("?")),
        takes_numbers="-#" in signs,
        takes_all="*" in signs,
    )


def parse(words: Sequence[Word], options: Options) -> Arguments | None:
    """Split words into options and names; return None for an unknown option."""
    names: list[Word] = []
    paths: list[Word] = []
    seen: set[str] = set()
    values: list[tuple[str, str]] = []
    place = 0
    while place < len(words):
        word = words[place]
        value = word.value
        place += 1
        if options.takes_all:
            names.append(word)
        elif value is None:
            return None
        elif value == "--":
            names += words[place:]
            break
        elif value == "-" or not value.startswith("-"):
            names.append(word)
        elif word.glob_at >= 0:
            return None
        else:
            taken = _Option(options, paths, seen, values).read(value, words[place : place + 1])
            if taken is None:
                return None
            place += taken
    return Arguments(tuple(names), tuple(paths), frozenset(seen), tuple(values))


def are_known(words: Sequence[Word], options: Options) -> bool:
    """Return whether every word that looks like an option is known, even where a value is expected.

    Which options of git take the next word depends on the subcommand and on git's version.
    """
    for word in words:
        if word.value == "--":
            return True
        if (word.value or "").startswith("-") and parse((word, plain("0")), options) is None:
            return False
    return True


class _Option(msgspec.Struct):
    """Reads one option, and adds what it finds to the lists of its command."""

    options: Options
    paths: list[Word]
    seen: set[str]
    values: list[tuple[str, str]]

    def read(self, value: str, following: Sequence[Word]) -> int | None:
        """Return how many further words an option takes; None for an unknown one."""
        options = self.options
        if value.startswith("--"):
            name, sign, content = value.partition("=")
            self.seen.add(name)
            if name in options.flags and not sign:
                return 0
            if name in options.with_equals:
                return 0
            if name in options.with_path | options.with_value:
                return self._value(name, plain(content) if sign else None, following)
            return None
        if options.takes_numbers and value[1:].isdigit():
            return 0
        return self._short(value, following)

    def _short(self, value: str, following: Sequence[Word]) -> int | None:
        for place in range(1, len(value)):
            name = f"-{value[place]}"
            self.seen.add(name)
            rest = value[place + 1 :]
            if name in self.options.with_equals:
                return 0  # the rest of the word is its value
            if name in self.options.with_value or name in self.options.with_path:
                return self._value(name, plain(rest) if rest else None, following)
            if name not in self.options.flags:
                return None
        return 0

    def _value(self, name: str, given: Word | None, following: Sequence[Word]) -> int | None:
        taken = 0 if given is not None else 1
        if given is None:
            if not following or not following[0].is_plain:
                return None
            given = following[0]
        if name in self.options.with_path:
            self.paths.append(given)
        self.values.append((name, given.value or ""))
        return taken
