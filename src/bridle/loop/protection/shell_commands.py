"""The simple commands of a shell line, and the paths among their arguments. Pure; nothing is run.

This need not be exact: a word that names no file does no harm, and one that names a file protects it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator

from msgspec import Struct

# Nested command lines such as `sh -c "bash -c '…'"`.
_DEPTH = 3
_OPERATORS = frozenset(";&|()\n")
_REDIRECTS = frozenset("<>")
_CHANGE_FOLDER = frozenset({"cd", "pushd"})
_LINE_NUMBER = re.compile(r"(?::\d+)+\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


class Simple(Struct, frozen=True):
    """One simple command: its arguments, and the folder it runs in, relative to the top."""

    words: tuple[str, ...]
    folder: str = ""


def simple_commands(line: str, folder: str = "", *, depth: int = _DEPTH) -> list[Simple]:
    """Return the simple commands of a line, quoted ones included, each with its folder after `cd`."""
    commands: list[Simple] = []
    for words in _split(line):
        plain = _without_assignments(words)
        if len(plain) > 1 and plain[0] in _CHANGE_FOLDER:
            folder = join(folder, plain[1])
            continue
        commands.append(Simple(tuple(words), folder))
        if depth > 0:
            for word in words:
                if any(space in word for space in " \t\n"):
                    commands += simple_commands(word, folder, depth=depth - 1)
    return commands


def join(folder: str, path: str) -> str:
    """Return a path relative to the top; one that leaves it begins with `../` or `/`."""
    joined = posixpath.normpath(posixpath.join(folder, path))
    return "" if joined == "." else joined


def candidates(word: str) -> Iterator[str]:
    """Yield what may be a path in a word: itself, the value of a flag, the part before `::` or `:12`."""
    if len(word) > 2 and word[0] == "-" and word[1] not in "-=":
        yield word[2:]
    for part in (word, *word.split("=")[1:]):
        for value in (part, *part.split(",")) if "," in part else (part,):
            bare = value.removeprefix("@")
            yield bare
            yield bare.partition("::")[0]
            yield _LINE_NUMBER.sub("", bare)


def module_paths(name: str) -> Iterator[str]:
    """Yield the files that a module name or test name (`tests.test_x.Case.test_y`) may refer to."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return
    for length in range(len(parts), 0, -1):
        stem = "/".join(parts[:length])
        yield f"{stem}.py"
        yield f"{stem}/__main__.py"


def is_pattern(word: str) -> bool:
    """Return whether the shell would expand the word as a glob."""
    return any(character in word for character in "*?[")


def _split(line: str) -> Iterator[list[str]]:
    """Yield the words of each simple command; an unclosed quote is ignored."""
    text = line.replace("\\\n", " ").replace("`", " ; ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";()<>|&\n")
    lexer.commenters, lexer.whitespace, lexer.whitespace_split = "", " \t\r", True
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = re.findall(r"[;()<>|&\n]+|[^\s;()<>|&\"']+", text)
    words: list[str] = []
    is_comment = False
    for token in tokens:
        if token and set(token) <= _OPERATORS | _REDIRECTS:
            if set(token) & _OPERATORS:
                is_comment = is_comment and "\n" not in token
                if words:
                    yield words
                words = []
        elif is_comment or token.startswith("#"):
            is_comment = True
        else:
            words.append(token)
    if words:
        yield words


def _without_assignments(words: list[str]) -> list[str]:
    start = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return words[start:]
