"""Scripts that a shell line executes or sources, and what may be their paths. Pure; nothing is run.

Files that a command only reads are not among them: the input of a test does not define the test.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct

from bridle.loop.protection.shell_commands import Simple, join

_SHELLS = frozenset({"ash", "bash", "dash", "ksh", "sh", "zsh"})
_INTERPRETERS = re.compile(r"(?:python|pypy)[0-9.]*|node|nodejs|ruby|perl|php|tsx|ts-node|Rscript|lua|fish|pwsh")
_SOURCE = frozenset({".", "source"})
# Words before a command, of the shell and of programs that start another one.
_BEFORE = frozenset(
    {"!", "builtin", "command", "do", "elif", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then", "time"}
    | {"until", "while", "xargs", "{"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Such as `$(dirname $0)/`, `${BASH_SOURCE%/*}/` and `$DIR/`.
_VARIABLE = re.compile(r"^.*(?:\$\w+|\$\{[^}]*\}|\)|`)/")
_SHEBANG = re.compile(r"#![^\n]*\b(?:ash|bash|dash|ksh|sh|zsh)\b")


class Script(Struct, frozen=True):
    """A word that names a script."""

    word: str
    is_shell: bool = False
    """Whether a shell executes it, whatever its first line says."""


def executed_scripts(simple: Simple) -> Iterator[Script]:
    """Yield the words of a command that name scripts which it executes or sources."""
    words, is_first = simple.words, True
    for position, word in enumerate(words):
        rest = words[position + 1 :]
        name = posixpath.basename(word)
        if is_first and word in _SOURCE and rest:
            yield Script(rest[0], is_shell=True)
        elif name in _SHELLS or _INTERPRETERS.fullmatch(name):
            argument = next((other for other in rest if not other.startswith("-")), None)
            inline = {"-c"} if name in _SHELLS else {"-c", "-e", "-m"}
            if argument is not None and not inline.intersection(rest[: rest.index(argument)]):
                yield Script(argument, is_shell=name in _SHELLS)
        elif is_first and "/" in word:
            yield Script(word)
        is_first = is_first and (word in _BEFORE or _ASSIGNMENT.match(word) is not None or word.startswith("-"))


def is_shell_script(path: str, text: str) -> bool:
    """Return whether a file is a shell script by its name or its first line."""
    return path.endswith((".sh", ".bash")) or _SHEBANG.match(text) is not None


def possible_paths(word: str, folder: str, caller: str | None) -> Iterator[str]:
    """Yield the paths that a word may mean: from a folder, the top, and the folder of the script that has it."""
    bare = _VARIABLE.sub("", word)
    places = [folder, ""] if caller is None else [folder, "", posixpath.dirname(caller)]
    names = [bare] if caller is None else [bare, bare.lstrip("/")]  # what is left of an unquoted `$(…)/x`
    for path in (join(place, name) for name in dict.fromkeys(names) for place in dict.fromkeys(places) if name):
        if path and not path.startswith(("/", "../")):
            yield path
