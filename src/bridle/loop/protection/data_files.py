"""Files that a check only reads as data: what they contain is the work, and does not define the check. Pure.

`grep -q v2 README.md` asks about README.md, `ruff check app.py` about app.py, and `cc -o app app.c` builds app.c; the
task is to change them. A file that a command executes, or that says what is expected, stays protected, and so does the
source of a test.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from bridle.loop.protection.shell_commands import Simple, simple_commands

# Programs that look at files, with the options whose values say what to look for.
_READERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), ("-f", "--file")),
    **dict.fromkeys(("jq", "yq"), ("-f", "--from-file", "--slurpfile", "--argfile")),
    **dict.fromkeys(("test", "[", "cat", "head", "tail", "wc", "ls", "stat", "file", "cut", "sort", "uniq", "tr"), ()),
    **dict.fromkeys(("echo", "printf", "true", "!", "$", "]"), ()),
}
# Programs that judge files; what follows an option of theirs may be their configuration.
_JUDGES = frozenset(
    {"ruff", "flake8", "mypy", "pyright", "pylint", "black", "isort", "bandit", "codespell", "py_compile", "compileall"}
    | {"eslint", "tsc", "prettier", "stylelint", "htmlhint", "jsonlint", "markdownlint", "markdownlint-cli2", "biome"}
    | {"shellcheck", "yamllint", "xmllint", "hadolint", "actionlint", "gofmt", "clang-format", "rustfmt", "vale"}
)
# Programs that build sources, as `gcc`, `gcc-12` and `arm-none-eabi-gcc`; with the options that name other definitions.
_COMPILERS = re.compile(
    r"(?:[\w.]+-)*(?:cc|c\+\+|c89|c99|gcc|g\+\+|clang|clang\+\+|tcc|icx|icpx|nvcc|gfortran|f77|ld|as|nasm|ar|rustc|javac"
    r"|kotlinc|scalac|groovyc|ghc|ocamlc|ocamlopt|ocamlfind|swiftc|dmd|ldc2|fpc|gnatmake|mcs|csc|valac|protoc|bison|flex)"
    r"(?:-[0-9.]+)?"
)
_BUILD_OPTIONS = ("-include", "-imacros", "-T", "@")
_TEST = re.compile(
    r"(?:^|[/_.-])(?:unit|self)?(?:tests?|specs?|checks?)(?=[/_.0-9-]|$)|(?:^|/)test|(?:^|/)Tests?(?=[A-Z])|Tests?(?=\.|$)"
)
# Words before the program that matters.
_LAUNCHERS = frozenset({"npx", "bunx", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "pnpm", "yarn", "run", "exec"})
_PYTHON = re.compile(r"python[0-9.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def executed_with(line: str, folder: str) -> list[Simple]:
    """Return the commands that a line executes; text in quotes counts only as a substitution."""
    commands = simple_commands(line, folder, depth=0)
    inner = [word for simple in commands for word in simple.words if "$(" in word]
    return [*commands, *(simple for word in inner for simple in simple_commands(word, folder))]


def defining_words(simple: Simple, line: Sequence[Simple]) -> Iterator[str]:
    """Yield the words of a command that may name what defines a check; `line` is all that is executed with it.

    What a reader prints may be executed by another command, so readers count only among themselves.
    """
    name, rest = _program(simple.words)
    if name in _JUDGES:
        yield from _after_options(rest)
    elif name in _READERS and all(_program(other.words)[0] in _READERS for other in line):
        yield from _values(rest, _READERS[name])
    elif _COMPILERS.fullmatch(name):
        yield from (word for word in rest if _TEST.search(word))
        yield from _values(rest, _BUILD_OPTIONS)
    else:
        yield from simple.words


def _program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the program that a command is about, and its arguments."""
    for position, word in enumerate(words):
        name = posixpath.basename(word)
        is_module = position + 1 < len(words) and _PYTHON.fullmatch(name) and words[position + 1] == "-m"
        if is_module:
            return words[position + 2] if position + 2 < len(words) else "", words[position + 3 :]
        if not _ASSIGNMENT.match(word) and name not in _LAUNCHERS and word != "!":
            return name, words[position + 1 :]
    return "", ()


def _after_options(words: Sequence[str]) -> Iterator[str]:
    """Yield options, and the words after them that may be their values."""
    for before, word in zip(("", *words), words, strict=False):
        if word.startswith("-") or (before.startswith("-") and before != "--" and "=" not in before):
            yield word


def _values(words: Sequence[str], options: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of these options."""
    for before, word in zip(("", *words), words, strict=False):
        if before in options or (options and word.startswith(options)):
            yield word
