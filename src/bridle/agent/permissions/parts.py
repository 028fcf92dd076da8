"""Everything that a command would run, for rules that forbid: each part in every shape that a rule may name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from bridle.agent.permissions.git import git_carried, git_command
from bridle.agent.permissions.shell import Command, Script, read_script
from bridle.agent.permissions.words import Word, plain
from bridle.agent.permissions.wrappers import LIMIT_WRAPPERS, basename, carried, is_carrier, reads_code

# A word that nobody knows: as a whole command it stands for every command.
ANYTHING: Final = Word("", None, doubt="Command is not known before it runs")

# Where one command may end and another begin, for text of which no more is understood.
_SEAMS = re.compile(r"[;&|(){}`\n\"'$<>\\]+")
# Fragments of a text that is not understood; a longer text has been refused for its length already.
_LIMIT_FRAGMENTS: Final = 20_000


def shapes(script: Script, text: str, home: str) -> Iterator[tuple[Word, ...]]:
    """Every command line in a script, as written and as meant."""
    for command in script.commands:
        yield from _shapes(command, home, 0)
    if script.is_broken:
        yield (ANYTHING,)
    if script.doubts:
        yield from _fragments(text)


def _shapes(command: Command, home: str, depth: int) -> Iterator[tuple[Word, ...]]:
    words = command.words
    if command.assignments:
        named = [
            plain(f"{name}={value.value}") for name, value in command.assignments if value and value.value is not None
        ]
        yield (*named, *words)
    yield from _lines(words, home, depth)


def _lines(words: tuple[Word, ...], home: str, depth: int) -> Iterator[tuple[Word, ...]]:
    if not words:
        return
    if words[0].value is None or not words[0].is_plain:
        yield (ANYTHING,)
        return
    yield words
    name = basename(words[0].value)
    if name != words[0].value:
        yield (plain(name), *words[1:])
    if name == "git":
        yield (plain("git"), *git_command(words)[1:])
    if reads_code(words) or (is_carrier(name) and any(word.value is None for word in words[1:])):
        yield (ANYTHING,)
    if depth >= LIMIT_WRAPPERS:
        yield (ANYTHING,)
        return
    for inside in (*carried(words), *(git_carried(words) if name == "git" else ())):
        yield from _code(inside, home, depth + 1) if isinstance(inside, str) else _lines(inside, home, depth + 1)


def _code(text: str, home: str, depth: int) -> Iterator[tuple[Word, ...]]:
    script = read_script(text, home)
    for command in script.commands:
        yield from _shapes(command, home, depth)
    if script.doubts:
        yield from _fragments(text)


def _fragments(text: str) -> Iterator[tuple[Word, ...]]:
    for fragment in _SEAMS.split(text)[:_LIMIT_FRAGMENTS]:
        words = tuple(plain(word) for word in fragment.split())
        if words:
            yield words
