"""The simple commands of a shell line, and the paths that their words may mean. Pure; it reads, and runs nothing.

It need not be exact: a word too many that names no file does no harm, and one that names a file protects it.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

# A line within a line within a line: `sh -c "bash -c '…'"`. Nobody goes deeper by hand.
_DEPTH = 3
_OPERATORS = frozenset(";&|()\n")
_REDIRECTS = frozenset("<>")
_CHANGE_FOLDER = frozenset({"cd", "pushd"})
_LINE_NUMBER = re.compile(r"(?::\d+)+\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True)
class Simple:
    """One simple command: its words, and the folder it runs in, as seen from the top."""

    words: tuple[str, ...]
    folder: str = ""


def simple_commands(line: str, folder: str = "", *, depth: int = _DEPTH) -> list[Simple]:
    """The simple commands of a line, those in quotes included, each in the folder that `cd` has led to."""
    found: list[Simple] = []
    for words in _split(line):
        plain = _without_assignments(words)
        if len(plain) > 1 and plain[0] in _CHANGE_FOLDER:
            folder = join(folder, plain[1])
            continue
        found.append(Simple(tuple(words), folder))
        if depth > 0:
            for word in words:
                if any(space in word for space in " \t\n"):
                    found += simple_commands(word, folder, depth=depth - 1)
    return found


def join(folder: str, path: str) -> str:
    """A path as seen from the top; one that leads out of it stays as it is, and names nothing there."""
    joined = posixpath.normpath(posixpath.join(folder, path))
    return "" if joined == "." else joined


def candidates(word: str) -> Iterator[str]:
    """What of a word may be a path: itself, what follows a flag or an equals sign, what stands before `::` or `:12`."""
    if len(word) > 2 and word[0] == "-" and word[1] not in "-=":
        yield word[2:]
    for part in (word, *word.split("=")[1:]):
        for one in (part, *part.split(",")) if "," in part else (part,):
            bare = one.removeprefix("@")
            yield bare
            yield bare.partition("::")[0]
            yield _LINE_NUMBER.sub("", bare)


def module_paths(name: str) -> Iterator[str]:
    """The files that a Python module may be in, or that the name of a test in it (`tests.test_x.Case.test_y`) means."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts):
        return
    for length in range(len(parts), 0, -1):
        stem = "/".join(parts[:length])
        yield f"{stem}.py"
        yield f"{stem}/__main__.py"


def is_pattern(word: str) -> bool:
    """Whether the shell would look for files to put in its place."""
    return any(mark in word for mark in "*?[")


def _split(line: str) -> Iterator[list[str]]:
    """Word lists, one for each simple command; an unclosed quote is read as if it were none."""
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
