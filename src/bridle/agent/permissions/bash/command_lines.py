"""Lists the command lines that a command would run, in every form that a deny rule may name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from glob import iglob
from itertools import islice
from typing import Final

from bridle.agent.permissions.bash.git_commands import git_carried, git_command
from bridle.agent.permissions.bash.parse import read_script
from bridle.agent.permissions.bash.parsed_command import Command, Redirect, Script
from bridle.agent.permissions.bash.words import Word, plain
from bridle.agent.permissions.bash.wrappers import (
    NAMERS,
    READS_COMMANDS,
    SHELLS,
    basename,
    carries,
    differs,
    is_carrier,
    named_code,
    reads_code,
)

# An unknown word; as a whole command it matches every rule.
ANYTHING: Final = Word("", None, doubt="Command is not known before it runs")

# The most nested texts of one command that are parsed; beyond it the command could be anything.
LIMIT_TEXTS: Final = 50
# The most words of a wrapper's command line at which a command may start, for the same reason.
LIMIT_STARTS: Final = 200

PRINTERS: Final = frozenset({"echo", "printf"})

# Separators of commands in text that cannot be parsed.
_SEPARATORS = re.compile(r"[;&|(){}`,\n\"'$<>\\]+")


def command_lines(
    script: Script, text: str, home: str, redirects: list[Redirect] | None = None
) -> Iterator[tuple[Word, ...]]:
    """Yield every command line in a script, as written and normalized; add its redirections to the list."""
    return _CommandSplitter(home, [] if redirects is None else redirects).of(script, text)


class _CommandSplitter:
    """Splits commands, and the texts in them that are commands again, up to the limits."""

    def __init__(self, home: str, redirects: list[Redirect]) -> None:
        self._home, self._redirects = home, redirects
        self._texts_left = LIMIT_TEXTS

    def of(self, script: Script, text: str) -> Iterator[tuple[Word, ...]]:
        """Yield the command lines of a script that was parsed from a text."""
        for command in script.commands:
            yield from self._command(command)
        if any(basename(word.value or "") in READS_COMMANDS for command in script.commands for word in command.words):
            yield from self._inside(_inputs(script))
        if script.is_broken:
            yield (ANYTHING,)
            joined = text.replace("\\\n", "")
            if joined != text:  # bash removes it, also inside a word
                yield from self.of(read_script(joined, self._home), joined)
        if script.doubts:
            yield from _fragments(text)

    def _command(self, command: Command) -> Iterator[tuple[Word, ...]]:
        words = command.words
        self._redirects += command.redirects
        if command.assignments:
            known = [(name, value.value) for name, value in command.assignments if value is not None]
            yield (*(plain(f"{name}={value}") for name, value in known if value is not None), *words)
        if not words:
            return
        yield from _line(words)
        name = basename(words[0].value or "")
        if name == "git":
            yield from self._inside(git_carried(words))
        if is_carrier(name):
            yield from self._carrier(words)
        if name in NAMERS:
            yield from self._inside(named_code(words))

    def _carrier(self, words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
        is_unknown = _reads_code(words) or any(word.value is None for word in words)
        if is_unknown or len(words) > LIMIT_STARTS or _is_for_another_shell(words):
            yield (ANYTHING,)
        for start in range(1, min(len(words), LIMIT_STARTS)):
            yield from _line(words[start:])
            if basename(words[start].value or "") == "git":
                yield from self._inside(git_carried(words[start:]))
        yield from self._inside(carries(words[:LIMIT_STARTS]))

    def _inside(self, carried: Iterator[tuple[Word, ...] | str]) -> Iterator[tuple[Word, ...]]:
        for inside in carried:
            if isinstance(inside, tuple):
                yield from _line(inside)
            elif self._texts_left == 0:
                yield (ANYTHING,)
                return
            else:
                self._texts_left -= 1
                yield from self.of(read_script(inside, self._home), inside)


def _inputs(script: Script) -> Iterator[str]:
    """Yield the texts that a shell of this script may get as its input: here-documents, and what others print."""
    yield from script.inputs
    for command in script.commands:
        if command.words and basename(command.words[0].value or "") in PRINTERS:
            yield " ".join(word.text if word.value is None else word.value for word in command.words[1:])


def _reads_code(words: tuple[Word, ...]) -> bool:
    """Return whether a wrapper, or a shell that it starts, reads commands from its input."""
    is_find = basename(words[0].value or "") == "find"  # it runs only what follows an option
    return any(
        reads_code(words[start:])
        for start in range(min(len(words), LIMIT_STARTS))
        if not is_find or (words[start - 1].value or "").startswith(("-exec", "-ok"))
    )


def _line(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Yield a command line as written, without the program's folder, and without git's global options."""
    if not words:
        return
    if words[0].value is None or not words[0].is_plain:
        yield (ANYTHING,)
        if words[0].value is not None and words[0].glob_at >= 0:
            for path in islice(iglob(words[0].value), LIMIT_STARTS):
                yield (plain(basename(path)), *words[1:])
        return
    yield words
    name = basename(words[0].value)
    if name != words[0].value:
        yield (plain(name), *words[1:])
    if name == "git":
        yield (plain("git"), *git_command(words)[1:])


def _is_for_another_shell(words: tuple[Word, ...]) -> bool:
    """Return whether the words have code for a shell that parses it differently from bash."""
    shells = {basename(word.value or "") for word in words} & SHELLS
    return any(differs(shell, text) for shell in shells for text in carries(words))


def _fragments(text: str) -> Iterator[tuple[Word, ...]]:
    for fragment in _SEPARATORS.split(text):
        words = tuple(plain(word) for word in fragment.split())
        if words:
            yield words
