"""Files that a check only reads as data: what they contain is the work, and does not define the check. Pure.

`grep -q v2 README.md` asks about README.md, `ruff check app.py` and `node --check app.js` about the source, and
`cc -o app app.c` builds app.c; the task is to change them. A file that a command executes, or that says what is
expected, stays protected, and so does the source of a test.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bridle.loop.protection.shell_commands import Simple, simple_commands

# Programs that look at files, with the options whose values say what to look for.
_READERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), ("-f", "--file")),
    **dict.fromkeys(("jq", "yq"), ("-f", "--from-file", "-L")),
    **dict.fromkeys(("test", "[", "[[", "cat", "head", "tail", "wc", "ls", "stat", "file", "cut", "sort", "uniq"), ()),
    **dict.fromkeys(("tr", "nl", "du", "echo", "printf", "true", "false", "exit", "!", "$", "]"), ()),
    "sed": ("-f", "--file"),
    **dict.fromkeys(
        ("awk", "gawk", "mawk"), ("-f", "--file", "-E", "--exec", "-i", "--include", "-l", "--load", "-D", "--source")
    ),
}
# Options of jq that are followed by a name and a file, which the filter compares with.
_NAMED_VALUES = frozenset({"--slurpfile", "--argfile", "--rawfile"})
# What makes a reader read the words to search for from elsewhere.
_STANDARD_INPUT = re.compile(r"-\w*f\s*-(?=\s|$)|--file[= ]-(?=\s|$)")
# Programs of readers that run a command or read a file of their own, or tell their files apart.
_PROGRAMS = {
    "sed": re.compile(
        r"(?:^|[;{}\n\d$/!,])\s*[eErRwW]\s*[\w./]*(?:\s|[./]|$)|[/|#,:@][gpiIm\d]*e[gpiIm\d]*(?:\s*[;}\n]|$)"
    ),
    **dict.fromkeys(
        ("awk", "gawk", "mawk"), re.compile(r"\bsystem\b|\bgetline\b|\|\s*&?\s*[\"(\w]|FNR|ARG[VI]|FILENAME")
    ),
}
_FILE = re.compile(r"(?![.-])[\w./-]*\w\.\w+")
_JOINERS = frozenset({"jq", "yq"})
_JOINS = re.compile(r"(?:^|\s)-\w*[ns]\w*\b|--slurp\b|--null-input\b|\binputs?\b|\beval-all\b|\bea\b")
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg"})
# What a command prints, executed as a command.
_EXECUTED = re.compile(r"(?:^|[;&|({\n]|\b(?:then|do|exec))\s*\"?(?:\$\(|`\s*\w)")
# A comparison of what two commands print, and words to search for that a command prints.
_COMPARED = re.compile(r"[)`][\"']?\s+(?:[=!]=?|==|=~|-(?:eq|ne|lt|le|gt|ge))\s+[\"']?(?:\$\(|`)")
_SEARCHED = re.compile(r"\b(?:[ef]?grep|rg)\s(?:[^|;&\n$`'\"]*)[\"']?(?:\$\(|`)")
# What follows a substitution: `test $(wc -l < x) -le 60`.
_OPERAND = re.compile(r"-\w+|\d+|[=!]=?|==|]]")
# What may use the output of a reader: a pipe, a substitution, a file.
_CONSUMED = re.compile(r"(?<!\|)\|(?!\|)|`|[$<>]\(|>(?!&|\s*/dev/null\b)")
# Programs that judge files; what follows an option of theirs may be their configuration.
_JUDGES = frozenset(
    {"ruff", "flake8", "mypy", "pyright", "pylint", "black", "isort", "bandit", "codespell", "py_compile", "compileall"}
    | {"eslint", "tsc", "prettier", "stylelint", "htmlhint", "jsonlint", "markdownlint", "markdownlint-cli2", "biome"}
    | {"shellcheck", "yamllint", "xmllint", "hadolint", "actionlint", "gofmt", "clang-format", "rustfmt", "vale"}
    | {"json.tool", "tabnanny", "pycodestyle", "pydocstyle", "pyflakes", "ty", "oxlint", "xo", "standard", "rubocop"}
    | {"html-validate", "tidy", "mdl", "remark", "djlint", "taplo", "sqlfluff", "luacheck", "cppcheck", "clang-tidy"}
)
# Options of these programs whose value may be a configuration: all long ones but known switches.
_CONFIGURES = re.compile(
    r"-[bcfprxCDIRV]|-\w[\w-]+|--(?!(?:check|check-only|check-filenames|diff|fix|fix-only|quiet|silent|strict|verbose|noout|nonet"
    r"|noEmit|no-[\w-]+|list|list-different|write|recursive|dry-run|errors-only|color|pretty|preview|statistics"
    r"|show-source|unsafe-fixes|fail-level|safe|fast|compact|json|json-lines|sort-keys|allowJs|checkJs)$)[\w-]+"
)
# Options with which an interpreter only parses a file.
_PARSES = {
    **dict.fromkeys(("sh", "bash", "dash", "ksh", "zsh"), frozenset({"-n"})),
    **dict.fromkeys(("node", "nodejs"), frozenset({"--check", "-c"})),
    **dict.fromkeys(("ruby", "perl"), frozenset({"-c", "-wc", "-cw"})),
    "php": frozenset({"-l", "--syntax-check"}),
}
# Subcommands with which a program compiles.
_COMPILES = {"go": frozenset({"vet", "build", "fmt"}), "zig": frozenset({"cc", "c++", "build-exe", "build-lib", "fmt"})}
# Programs that build sources, as `gcc`, `gcc-12` and `arm-none-eabi-gcc`; with the options that name other definitions.
_COMPILERS = re.compile(
    r"(?:[\w.]+-)*(?:cc|c\+\+|c89|c99|gcc|g\+\+|clang|clang\+\+|tcc|icx|icpx|nvcc|gfortran|f77|ld|as|nasm|ar|rustc|javac"
    r"|kotlinc|scalac|groovyc|ghc|ocamlc|ocamlopt|ocamlfind|swiftc|dmd|ldc2|fpc|gnatmake|mcs|csc|valac|protoc|bison|flex)"
    r"(?:-[0-9.]+)?"
)
_BUILD_OPTIONS = ("-include", "-imacros", "-T", "@", "-overlay", "-toolexec", "-vettool", "-modfile")
_TEST = re.compile(
    r"(?:^|[/_.-])(?:unit|self)?(?:tests?|specs?|checks?)(?=[/_.0-9-]|$)|(?:^|/)test|(?:^|/)Tests?(?=[A-Z])|Tests?(?=\.|$)"
)
# Words before the program that matters.
_LAUNCHERS = frozenset(
    {"npx", "bunx", "uv", "uvx", "poetry", "pipenv", "pdm", "hatch", "pnpm", "yarn", "run", "exec"}
    | {"!", "if", "then", "elif", "else", "time", "command"}
)
_PYTHON = re.compile(r"python[0-9.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def executed_with(line: str, folder: str) -> list[Simple]:
    """Return the commands that a line executes; text in quotes counts only as a substitution."""
    commands = simple_commands(line, folder, depth=0)
    inner = [word for simple in commands for word in simple.words if "$(" in word]
    return [*commands, *(simple for word in inner for simple in simple_commands(word, folder))]


def defining_words(simple: Simple, executed: Sequence[Simple], line: str) -> Iterator[str]:
    """Yield the words of a command that may name what defines a check; `executed` is all that its line executes."""
    name, rest = _program(simple.words)
    if name in _JUDGES:
        yield from _after_options(rest)
    elif _only_reads(simple, executed, line):
        yield from _values(rest, _READERS.get(name, ()))
        yield from _named_values(rest)
    elif _COMPILERS.fullmatch(name) or _COMPILES.get(name, frozenset()).intersection(rest[:1]):
        yield from (word for word in rest if _TEST.search(word))
        yield from _values(rest, _BUILD_OPTIONS)
    elif _PARSES.get(name, frozenset()).intersection(rest[:1]):
        yield from (word for before, word in pairwise(rest[1:]) if before.startswith("-") or word.startswith("-"))
        yield from (word for word in rest[1:2] if word.startswith("-"))
    else:
        yield from simple.words


def texts_of_readers(executed: Sequence[Simple], line: str) -> set[Simple]:
    """Return what texts in quotes become if they are read as shell lines, where a command only searches for them."""
    quoted = (
        (word, simple.folder)
        for simple in executed
        if _only_reads(simple, executed, line)
        for word in simple.words
        if " " in word and "$(" not in word
    )
    return {inner for word, folder in quoted for inner in simple_commands(word, folder)}


def _only_reads(simple: Simple, executed: Sequence[Simple], line: str) -> bool:
    """Return whether a command reads files, and no other one can execute what it prints."""
    if not _is_reader(simple) or _uses_output(line):
        return False
    if _SEARCHED.search(line) and _program(simple.words)[0] not in _SEARCHERS:
        return False
    return not _CONSUMED.search(line) or all(_is_reader(other) for other in executed)


def _uses_output(line: str) -> bool:
    """Return whether what a command prints is compared, searched for or executed."""
    plain = re.sub(r"\[\[.*?\]\]", "", line)
    return bool(_COMPARED.search(line) or _STANDARD_INPUT.search(line) or _EXECUTED.search(plain))


def _is_reader(simple: Simple) -> bool:
    name, rest = _program(simple.words)
    if name in _PROGRAMS and any(_PROGRAMS[name].search(word) for word in rest if not _FILE.fullmatch(word)):
        return False
    if name in _JOINERS and _JOINS.search(" ".join(rest)) and sum(1 for word in rest if _FILE.fullmatch(word)) > 1:
        return False
    return name in _READERS or _OPERAND.fullmatch(name) is not None


def _program(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the program that a command is about, and its arguments."""
    for position, word in enumerate(words):
        name = posixpath.basename(word)
        is_module = position + 1 < len(words) and _PYTHON.fullmatch(name) and words[position + 1] == "-m"
        if is_module:
            return words[position + 2] if position + 2 < len(words) else "", words[position + 3 :]
        if not _ASSIGNMENT.match(word) and name not in _LAUNCHERS:
            return name, words[position + 1 :]
    return "", ()


def _after_options(words: Sequence[str]) -> Iterator[str]:
    """Yield options, and the words after them that may be a configuration."""
    for before, word in zip(("", *words), words, strict=False):
        if word.startswith("-") or _CONFIGURES.fullmatch(before):
            yield word


def _values(words: Sequence[str], options: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of these options, also of letters that are joined, as in `-qf FILE`."""
    letters = "".join(option[1] for option in options if len(option) == 2 and option[0] == "-") or "@"
    joined = re.compile(rf"-[A-Za-z]*?[{letters}](.*)")
    for before, word in zip(("", *words), words, strict=False):
        previous, own = joined.fullmatch(before), joined.fullmatch(word)
        if before in options or (options and word.startswith(options)) or (previous and not previous[1]):
            yield word
        if own and own[1]:
            yield own[1]


def _named_values(words: Sequence[str]) -> Iterator[str]:
    """Yield the files of options that are followed by a name and a file."""
    yield from (word for option, word in zip(words, words[2:], strict=False) if option in _NAMED_VALUES)
