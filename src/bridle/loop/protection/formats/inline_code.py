"""Code in the line of a check, such as `node -e "…"`: what it loads or reads is the work that it asks about. Pure.

The line itself says what is expected. These files stay protected: those named like a test or an expected result, those
that the code executes as text, and data that it compares with other data.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator

from bridle.loop.protection.shell_commands import Simple, simple_commands

_PROGRAM = re.compile(r"((?:python|pypy)[0-9.]*|node|nodejs|bun|deno|ruby|perl|php|lua[0-9.]*|Rscript)")
_FLAGS = frozenset({"-c", "-e", "-E", "-p", "-pe", "-r", "--eval", "--print", "eval"})
_SOURCE = re.compile(r"\.(?:py|[cm]?[jt]s|[jt]sx|rb|p[lm]|php|lua|R)$")
_EXECUTES = re.compile(
    r"\b(?:exec|execfile|execSync|eval|run_path|run_module|subprocess|system|popen|spawn\w*|child_process|importlib"
    r"|runInNewContext|runInThisContext|load_source|\w*FileLoader|instance_eval|class_eval|dofile|loadfile|do)\b|`"
)
_DECIDES = re.compile(
    r"tests?|spec|check|verif|valid|lint|assert|accept|approv|expect|want|golden|snapshot|fixture|reference|baseline",
    re.IGNORECASE,
)


def inline_codes(simple: Simple) -> Iterator[str]:
    """Yield the code that a command passes to an interpreter as an argument."""
    name = next(iter(simple.words), "")
    for position, word in enumerate(simple.words[:-1]):
        if word in _FLAGS and _PROGRAM.fullmatch(posixpath.basename(name)):
            yield simple.words[position + 1]
        if not word.startswith("-"):
            name = word


def words_of_code(commands: Collection[Simple]) -> dict[Simple, str]:
    """Return what the code of these commands becomes if it is read as shell lines, each with its code."""
    return {
        inner: code
        for simple in commands
        for code in inline_codes(simple)
        if not _EXECUTES.search(code)
        for inner in simple_commands(code, simple.folder)
    }


def defining_files(names: Collection[str]) -> set[str]:
    """Return those of the files in a piece of code that say what is expected."""
    data = {name for name in names if not _SOURCE.search(name)}
    return {name for name in names if _DECIDES.search(name)} | (data if len(data) > 1 else set())
