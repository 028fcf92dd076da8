"""Which files a search reads below a folder, as far as all arguments are understood.

Only a few plain forms leave files out. Everything else counts as reading every file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Final

import msgspec

from bridle.agent.permissions.bash import read_only_table
from bridle.agent.permissions.bash.command_options import Arguments, known_options, parse
from bridle.agent.permissions.bash.words import Word, plain

_GREPS: Final = {"grep": "grep", "egrep": "egrep", "fgrep": "fgrep", "zgrep": "grep"}
SEARCHES: Final = frozenset({"rg", "ag", "ack", *_GREPS})
_PATTERN_OPTIONS: Final = frozenset({"-e", "-f", "--regexp", "--file", "--files", "--type-list"})
_RECURSIVE_OPTIONS: Final = frozenset({"-r", "-R", "-d", "--recursive"})
_GREP_FILTERS: Final = frozenset({"--include", "--exclude", "--exclude-dir"})
_RG_FILTERS: Final = frozenset({"-g", "--glob", "--iglob"})
# Every program matches such a pattern with names in the same way: no brackets, braces, slashes or escapes.
_PLAIN_PATTERN: Final = re.compile(r"[\w.*-]+", re.ASCII)


class Search(msgspec.Struct, frozen=True):
    """One search."""

    names: tuple[Word, ...] = ()
    """The files and folders that it searches; empty: the current folder."""
    only: tuple[str, ...] = ()
    """Patterns of the only names that are read; empty: all."""
    files: tuple[str, ...] = ()
    """Patterns of files that are left out."""
    folders: tuple[str, ...] = ()
    """Patterns of folders that are left out."""
    follows: bool = False
    """Whether it follows links. Then no name tells what is read."""

    def reads(self, name: str) -> bool:
        """Return whether it reads the file of this name, relative to the folder that it searches."""
        *folders, file = name.split("/")
        if self.follows:
            return True
        if any(_is_one_of(folder, self.folders) for folder in folders) or _is_one_of(file, self.files):
            return False
        return not self.only or _is_one_of(file, self.only)


_Filters = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def read_search(program: str, words: Sequence[Word]) -> Search | None:
    """Return what a search reads below folders; None if it reads only the files that it names."""
    names = tuple(word for word in words if not (word.value or "").startswith("-"))
    listed = read_only_table.entries(read_only_table.READERS_TEXT).get(_GREPS.get(program, program))
    arguments = None
    if listed is not None:
        # A word that the shell computes counts as a name, as everywhere.
        known = [word if word.value is not None else Word(word.text, "?") for word in words]
        arguments = parse(known, known_options(listed[1]))
    if arguments is None:
        return Search(names)
    if program in _GREPS and not _RECURSIVE_OPTIONS & arguments.options:
        return None
    if program == "rg" and {"--files", "--type-list", "--version", "-V"} & arguments.options:
        return None  # it lists names
    names = arguments.names if _PATTERN_OPTIONS & arguments.options else arguments.names[1:]
    if any(word.value is None for word in words):
        return Search((*names, plain(".")))
    filters = _rg_filters(arguments) if program == "rg" else _grep_filters(arguments)
    only, files, folders = filters or ((), (), ())
    follows = read_only_table.FOLLOWING[_GREPS.get(program, program)] & arguments.options
    return Search(names, only, files, folders, bool(follows))


def _grep_filters(arguments: Arguments) -> _Filters | None:
    found = [(option, value) for option, value in arguments.values if option in _GREP_FILTERS]
    options = {option for option, _ in found}
    # With both, the last one that matches counts, and without a match the first one of all.
    if {"--include", "--exclude"} <= options or not _are_plain(value for _, value in found):
        return None
    only, files, folders = (
        tuple(value for option, value in found if option == name)
        for name in ("--include", "--exclude", "--exclude-dir")
    )
    return only, files, folders


def _rg_filters(arguments: Arguments) -> _Filters | None:
    found = [(option, value) for option, value in arguments.values if option in _RG_FILTERS]
    # A glob without `!` shows hidden files too, and a later one counts more than an earlier one.
    if any(option == "--iglob" or not value.startswith("!") for option, value in found):
        return None
    patterns = tuple(value[1:] for _, value in found)
    return ((), patterns, patterns) if _are_plain(patterns) else None


def _are_plain(patterns: Iterable[str]) -> bool:
    return all(_PLAIN_PATTERN.fullmatch(pattern) for pattern in patterns)


def _is_one_of(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
