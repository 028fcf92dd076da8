"""What one command would read and change, for the programs that are known; nothing for all others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from bridle.agent.permissions import table
from bridle.agent.permissions.words import Word, plain


class Touches(msgspec.Struct, frozen=True):
    """The files that a command names, and what it does to them."""

    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    removes: tuple[Word, ...] = ()
    """What is gone afterwards: removed, or moved away."""
    is_git: bool = False
    goes_to: Word | None = None
    """The folder that the shell stands in afterwards."""
    objection: str | None = None
    """Why the program is known and this use of it is not."""


class Options(msgspec.Struct, frozen=True):
    """The options of one program, as the table lists them."""

    flags: frozenset[str]
    with_value: frozenset[str]
    with_path: frozenset[str]
    with_equals: frozenset[str]
    takes_numbers: bool
    takes_all: bool


class Arguments(msgspec.Struct, frozen=True):
    """The words of a command, told apart."""

    names: tuple[Word, ...]
    """Those without a dash."""
    paths: tuple[Word, ...]
    """Values of options that are files to read."""
    options: frozenset[str]


_SED_PRINT = re.compile(r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?p)(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*\Z")
_SED_REPLACE = re.compile(
    r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?)?s([/|#,@:!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIip0-9]*\Z"
)
_JQ_SAFE = re.compile(r"[A-Za-z0-9_.\[\]{}|,\"' ():?<>=!*/+-]*\Z")
_JQ_UNSAFE = re.compile(
    r"\b(?:env|input|inputs|import|include|input_filename|debug|halt|halt_error|modulemeta|get_search_list)\b"
)
_TEST_PATH: Final = frozenset(f"-{letter}" for letter in "abcdefghkLNOprsSuwxG")
_TEST_PLAIN: Final = frozenset(
    {"=", "==", "!=", "-n", "-z", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "!", "-a", "-o", "(", ")"}
)


def read_touches(words: Sequence[Word]) -> Touches | None:
    """What a command of these words only reads; None if it is not known to only read."""
    program, rest = words[0].value, words[1:]
    if program is None or not words[0].is_plain:
        return None
    special = _SPECIAL.get(program)
    if program in table.VERSIONS and len(rest) == 1 and rest[0].value in table.VERSIONS[program]:
        return Touches()
    if special is not None:
        return special(rest)
    listed = _table(table.READERS_TEXT).get(program)
    return _listed(listed[0], listed[1], rest) if listed else None


def change_touches(words: Sequence[Word]) -> Touches | None:
    """What a command of these words changes, in the plain ways that are accepted where edits are; None if not known."""
    program, rest = words[0].value, words[1:]
    if program is None or not words[0].is_plain:
        return None
    if program == "sed":
        return _sed_change(rest)
    listed = _table(table.CHANGERS_TEXT).get(program)
    if listed is None:
        return None
    arguments = parse(rest, _options(listed[1]))
    if arguments is None:
        return Touches(objection=f"{program} command with flags requires manual approval")
    if not arguments.names:
        return None
    return _change(program, arguments)


def parse(words: Sequence[Word], options: Options) -> Arguments | None:
    """Tell options and names apart; None if one is not known."""
    names: list[Word] = []
    paths: list[Word] = []
    seen: set[str] = set()
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
            taken = _option(value, words[place : place + 1], options, paths, seen)
            if taken is None:
                return None
            place += taken
    return Arguments(tuple(names), tuple(paths), frozenset(seen))


def _option(value: str, following: Sequence[Word], options: Options, paths: list[Word], seen: set[str]) -> int | None:
    """How many further words an option takes; None if it is not known."""
    if value.startswith("--"):
        name, sign, content = value.partition("=")
        seen.add(name)
        if name in options.flags and not sign:
            return 0
        if name in options.with_equals:
            return 0
        if name in options.with_path | options.with_value:
            return _value(name, plain(content) if sign else None, following, options, paths)
        return None
    if options.takes_numbers and value[1:].isdigit():
        return 0
    return _short(value, following, options, paths, seen)


def _short(value: str, following: Sequence[Word], options: Options, paths: list[Word], seen: set[str]) -> int | None:
    for place in range(1, len(value)):
        name = f"-{value[place]}"
        seen.add(name)
        rest = value[place + 1 :]
        if name in options.with_equals:
            return 0  # the rest of the word is its value
        if name in options.with_value or name in options.with_path:
            return _value(name, plain(rest) if rest else None, following, options, paths)
        if name not in options.flags:
            return None
    return 0


def _value(name: str, given: Word | None, following: Sequence[Word], options: Options, paths: list[Word]) -> int | None:
    taken = 0 if given is not None else 1
    if given is None:
        if not following or not following[0].is_plain:
            return None
        given = following[0]
    if name in options.with_path:
        paths.append(given)
    return taken


@lru_cache(maxsize=8)
def _table(text: str) -> dict[str, tuple[str, str]]:
    return table.entries(text)


@lru_cache(maxsize=8)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@lru_cache(maxsize=128)
def _options(text: str) -> Options:
    signs = text.split()
    return Options(
        flags=frozenset(sign for sign in signs if sign[-1] not in ":=?@") | {s[:-1] for s in signs if s.endswith("?")},
        with_value=frozenset(sign[:-1] for sign in signs if sign[-1] in ":="),
        with_path=frozenset(sign[:-1] for sign in signs if sign.endswith("@")),
        with_equals=frozenset(sign[:-1] for sign in signs if sign.endswith("?")),
        takes_numbers="-#" in signs,
        takes_all="*" in signs,
    )


def _listed(kind: str, text: str, words: Sequence[Word]) -> Touches | None:
    options = _options(text)
    if kind == "text" and not options.takes_all and any(not word.is_plain for word in words):
        return None
    arguments = parse(words, options)
    if arguments is None or any(word.value is None and word.doubt for word in arguments.names):
        return None
    names = arguments.names
    if kind == "text":
        return Touches()
    if kind == "none":
        return None if names else Touches()
    if kind == "pattern":
        given = {"-e", "-f", "--regexp", "--file", "--files", "--type-list", "--version"} & arguments.options
        if not given and names and names[0].glob_at >= 0:
            return None  # the first name that it expands to would be the pattern, and the others files
        names = names if given else names[1:]
    return Touches(reads=(*names, *arguments.paths)) if all(name.value is not None for name in names) else None


def _printf(words: Sequence[Word]) -> Touches | None:
    return None if words and (words[0].value or "-").startswith("-") else Touches()


def _date(words: Sequence[Word]) -> Touches | None:
    known = re.compile(r"\+.*|-u|--utc|-R|-I\w*|--iso-8601(?:=\w+)?|--rfc-3339=\w+|-d.+|--date=.+", re.DOTALL)
    values = [word.value if word.is_plain else None for word in words]
    if len(values) > 1 and "-d" in values[:-1]:
        place = values.index("-d")
        del values[place : place + 2]
    return Touches() if all(value is not None and known.fullmatch(value) for value in values) else None


def _cd(words: Sequence[Word]) -> Touches | None:
    names = [word for word in words if word.value not in ("--", "-P", "-L")]
    if len(names) != 1 or not names[0].is_plain or (names[0].value or "-").startswith("-") or len(words) > 2:
        return None
    return Touches(reads=(names[0],), goes_to=names[0])


def _test(words: Sequence[Word]) -> Touches | None:
    reads: list[Word] = []
    for place, word in enumerate(words):
        if not word.is_plain or word.value is None:
            return None
        if word.value in _TEST_PATH and word.value not in ("-a", "-o") and place + 1 < len(words):
            reads.append(words[place + 1])
        elif word.value.startswith("-") and word.value not in _TEST_PLAIN and not re.fullmatch(r"-\d+", word.value):
            return None
    return Touches(reads=tuple(read for read in reads if read.value not in _TEST_PLAIN | {"]"}))


def _sed(words: Sequence[Word]) -> Touches | None:
    arguments = parse(words, _options("-n -E -r -s -u --quiet --silent"))
    if arguments is None or not arguments.names or not arguments.options & {"-n", "--quiet", "--silent"}:
        return None
    script, files = arguments.names[0], arguments.names[1:]
    if not script.is_plain or not _SED_PRINT.match(script.value or "x"):
        return None
    return Touches(reads=files)


def _sed_change(words: Sequence[Word]) -> Touches | None:
    values = [word.value for word in words]
    in_place = [value for value in values if value and re.fullmatch(r"-i(?:\.\w+)?", value)]
    rest = [word for word in words if word.value not in in_place]
    arguments = parse(rest, _options("-n -E -r -s -e: --quiet --silent --expression= --regexp-extended"))
    if arguments is None:
        return None
    scripts = _sed_scripts(rest, arguments)
    names = arguments.names if {"-e", "--expression"} & arguments.options else arguments.names[1:]
    if (
        not scripts
        or not all(_SED_PRINT.match(script) or _SED_REPLACE.match(script) for script in scripts)
        or not names
    ):
        return None
    return Touches(writes=names) if in_place else Touches(reads=names)


def _sed_scripts(words: Sequence[Word], arguments: Arguments) -> list[str]:
    if not {"-e", "--expression"} & arguments.options:
        first = arguments.names[0] if arguments.names else None
        return [first.value] if first is not None and first.is_plain and first.value else []
    values = [word.value or "" for word in words]
    if any(re.fullmatch(r"-\w+e.*|-e.+|--expression=.*", value, re.DOTALL) for value in values):
        return []  # only the plain spelling is read: `-e SCRIPT`
    return [values[place + 1] for place, value in enumerate(values[:-1]) if value in ("-e", "--expression")]


def _jq(words: Sequence[Word]) -> Touches | None:
    arguments = parse(
        words,
        _options("-c -e -j -M -r -s -S -a -C --compact-output --raw-output --slurp --sort-keys --tab --exit-status"),
    )
    if arguments is None or not arguments.names:
        return None
    program, files = arguments.names[0], arguments.names[1:]
    text = program.value or ""
    if not program.is_plain or not _JQ_SAFE.match(text) or _JQ_UNSAFE.search(text):
        return None
    return Touches(reads=files)


def _find(words: Sequence[Word]) -> Touches | None:
    reads: list[Word] = []
    place = 0
    while place < len(words) and words[place].value in ("-H", "-L", "-P"):
        place += 1
    while place < len(words) and (words[place].value or "-")[0] not in "-!(":
        reads.append(words[place])
        place += 1
    while place < len(words):
        value = words[place].value
        if value is None or words[place].glob_at >= 0:
            return None
        place += 1
        if value in _words(table.FIND_TEXT):
            continue
        if value not in _words(table.FIND_WITH_TEXT) | table.FIND_WITH_PATH:
            return _find_objection(value)
        if place >= len(words) or not words[place].is_plain:
            return None
        if value in table.FIND_WITH_PATH:
            reads.append(words[place])
        place += 1
    return Touches(reads=tuple(reads))


def _find_objection(action: str) -> Touches | None:
    if not re.match(r"-(?:exec|ok|delete|fprint|fls|files0-from)", action):
        return None
    why = "executes commands or modifies files — cannot be auto-allowed by a Bash(find:*) prefix rule"
    return Touches(objection=f"find with '{action}' {why}")


def _git(words: Sequence[Word]) -> Touches | None:
    rest = list(words)
    while rest and rest[0].value in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
        rest.pop(0)
    if not rest or not rest[0].is_plain or rest[0].value is None:
        return None
    subcommand, arguments = rest[0].value, rest[1:]
    if subcommand in table.GIT_WITH:
        return _git_with(subcommand, arguments)
    listed = _table(table.GIT_TEXT).get(subcommand)
    parsed = parse(arguments, _options(listed[1])) if listed else None
    if listed is None or parsed is None:
        return None
    if parsed.names and listed[0] == "bare" and not _is_listing(subcommand, parsed):
        return None
    names = [name for name in parsed.names if name.value is None or _is_pathlike(name.value)]
    if subcommand == "grep" and not {"-e"} & parsed.options:
        names = [name for name in parsed.names[1:] if name.value is None or _is_pathlike(name.value)]
    return Touches(reads=tuple(names), is_git=True)


def _is_listing(subcommand: str, parsed: Arguments) -> bool:
    """`branch --list x` and the like: a name that is a pattern to look for."""
    if subcommand in ("branch", "tag"):
        return bool({"-l", "--list"} & parsed.options)
    return subcommand == "reflog" and parsed.names[0].value == "show"


def _is_pathlike(value: str) -> bool:
    """Whether a word could lead out of the repository if git takes it for a path."""
    return value.startswith(("/", "~", ":")) or ".." in value.split("/")


def _git_with(subcommand: str, arguments: Sequence[Word]) -> Touches | None:
    first = arguments[0].value if arguments else ""
    if first not in table.GIT_WITH[subcommand] or any(not word.is_plain for word in arguments):
        return None
    values = [word.value or "" for word in arguments[1:]]
    if any(value.startswith("-") for value in values) or any(_is_pathlike(value) for value in values):
        return None
    if subcommand == "remote" and first in ("-v", "--verbose", "") and values:
        return None
    return Touches(is_git=True)


def _command(words: Sequence[Word]) -> Touches | None:
    """`command -v name`: where a program is. Every other use runs the program, and is seen through elsewhere."""
    known = len(words) > 1 and words[0].value in ("-v", "-V") and all(word.is_plain for word in words)
    return Touches() if known else None


def _type(words: Sequence[Word]) -> Touches | None:
    return Touches() if all(word.is_plain for word in words) else None


def _change(program: str, arguments: Arguments) -> Touches | None:
    names = arguments.names
    if program in ("rm", "rmdir"):
        return Touches(removes=names)
    if program in ("cp", "mv"):
        if len(names) < 2:
            return None
        sources, target = names[:-1], names[-1]
        return (
            Touches(reads=sources, writes=(target,)) if program == "cp" else Touches(removes=sources, writes=(target,))
        )
    return Touches(reads=arguments.paths, writes=names)


_SPECIAL: Final = {
    "[": lambda words: _test(words[:-1]) if words and words[-1].value == "]" else None,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "find": _find,
    "git": _git,
    "jq": _jq,
    "printf": _printf,
    "sed": _sed,
    "test": _test,
    "type": _type,
}
