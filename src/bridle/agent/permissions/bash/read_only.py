"""The files that a read-only command reads, for known programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from bridle.agent.permissions.bash import read_only_table
from bridle.agent.permissions.bash.command_options import Arguments, are_known, known_options, parse
from bridle.agent.permissions.bash.parsed_command import FilesUsed
from bridle.agent.permissions.bash.words import Word, plain

_SED_PRINT = re.compile(r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?p)(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*\Z")
_JQ_SAFE = re.compile(r"[A-Za-z0-9_.\[\]{}|,\"' ():?<>=!*/+-]*\Z")
_JQ_UNSAFE = re.compile(
    r"\b(?:env|input|inputs|import|include|input_filename|debug|halt|halt_error|modulemeta|get_search_list)\b"
)
_HERE: Final = (plain("."),)
_TEST_PATH: Final = frozenset(f"-{letter}" for letter in "abcdefghkLNOprsSuwxG")
_TEST_PLAIN: Final = frozenset(
    {"=", "==", "!=", "-n", "-z", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "!", "-a", "-o", "(", ")"}
)


def files_read(words: Sequence[Word]) -> FilesUsed | None:
    """Return the files that a command reads; None if it is not known to be read-only."""
    program, rest = words[0].value, words[1:]
    if program is None or not words[0].is_plain:
        return None
    special = _SPECIAL.get(program)
    if program in read_only_table.VERSIONS and len(rest) == 1 and rest[0].value in read_only_table.VERSIONS[program]:
        return FilesUsed()
    if special is not None:
        return special(rest)
    listed = _table(read_only_table.READERS_TEXT).get(program)
    return _listed(program, listed[0], listed[1], rest) if listed else None


@lru_cache(maxsize=8)
def _table(text: str) -> dict[str, tuple[str, str]]:
    return read_only_table.entries(text)


@lru_cache(maxsize=8)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _listed(program: str, kind: str, text: str, words: Sequence[Word]) -> FilesUsed | None:
    options = known_options(text)
    if kind == "text" and not options.takes_all and any(not word.is_plain for word in words):
        return None
    arguments = parse(words, options) if not any(_misleads(program, word.value or "") for word in words) else None
    if arguments is None or any(word.value is None and word.doubt for word in arguments.names):
        return None
    names = arguments.names
    if kind == "text":
        return FilesUsed()
    if kind == "none":
        return None if names else FilesUsed()
    if kind == "pattern":
        given = {"-e", "-f", "--regexp", "--file", "--files", "--type-list", "--version"} & arguments.options
        if not given and names and names[0].glob_at >= 0:
            return None  # its first match would be the pattern, and the others files
        names = names if given else names[1:]
    if any(name.value is None for name in names):
        return None
    follows = program == "diff" or bool(read_only_table.FOLLOWING.get(program, frozenset()) & arguments.options)
    return FilesUsed(reads=(*(names or (_HERE if follows else ())), *arguments.paths), follows=follows)


def _misleads(program: str, value: str) -> bool:
    """Return whether a program parses this word differently: tree reads options after one with a value."""
    if program == "tree":
        return bool(re.match(r"-(?!-|L\d+\Z)\w*[LPI].", value))
    return program == "strings" and value.startswith("@")  # a file with more arguments


def _printf(words: Sequence[Word]) -> FilesUsed | None:
    return None if words and (not words[0].is_plain or (words[0].value or "-").startswith("-")) else FilesUsed()


def _date(words: Sequence[Word]) -> FilesUsed | None:
    known = re.compile(r"\+.*|-u|--utc|-R|-I\w*|--iso-8601(?:=\w+)?|--rfc-3339=\w+|-d.+|--date=.+", re.DOTALL)
    values = [word.value if word.is_plain else None for word in words]
    if len(values) > 1 and "-d" in values[:-1]:
        place = values.index("-d")
        del values[place : place + 2]
    return FilesUsed() if all(value is not None and known.fullmatch(value) for value in values) else None


def _ps(words: Sequence[Word]) -> FilesUsed | None:
    """Allow listing processes, but not their environments, which `e` without a dash shows."""
    arguments = parse(
        words, known_options("-a -A -e -f -F -j -l -L -o: -p: -u: -x --forest --sort= --pid= --no-headers")
    )
    if arguments is None or not all(re.fullmatch(r"[afjlmtuwx]+|\d+", name.value or "") for name in arguments.names):
        return None
    return FilesUsed()


def _cd(words: Sequence[Word]) -> FilesUsed | None:
    names = [word for word in words if word.value not in ("--", "-P", "-L")]
    if len(names) != 1 or not names[0].is_plain or (names[0].value or "-").startswith("-") or len(words) > 2:
        return None
    return FilesUsed(reads=(names[0],), goes_to=names[0])


def _test(words: Sequence[Word]) -> FilesUsed | None:
    reads: list[Word] = []
    for place, word in enumerate(words):
        if not word.is_plain or word.value is None:
            return None
        if word.value in _TEST_PATH and word.value not in ("-a", "-o") and place + 1 < len(words):
            reads.append(words[place + 1])
        elif word.value.startswith("-") and word.value not in _TEST_PLAIN and not re.fullmatch(r"-\d+", word.value):
            return None
    return FilesUsed(reads=tuple(read for read in reads if read.value not in _TEST_PLAIN | {"]"}))


def _sed(words: Sequence[Word]) -> FilesUsed | None:
    arguments = parse(words, known_options("-n -E -r -s -u --quiet --silent"))
    if arguments is None or not arguments.names or not arguments.options & {"-n", "--quiet", "--silent"}:
        return None
    script, files = arguments.names[0], arguments.names[1:]
    if not script.is_plain or not _SED_PRINT.match(script.value or "x"):
        return None
    return FilesUsed(reads=files)


def _jq(words: Sequence[Word]) -> FilesUsed | None:
    arguments = parse(
        words,
        known_options(
            "-c -e -j -M -r -s -S -a -C --compact-output --raw-output --slurp --sort-keys --tab --exit-status"
        ),
    )
    if arguments is None or not arguments.names:
        return None
    program, files = arguments.names[0], arguments.names[1:]
    text = program.value or ""
    if not program.is_plain or not _JQ_SAFE.match(text) or _JQ_UNSAFE.search(text):
        return None
    return FilesUsed(reads=files)


def _find(words: Sequence[Word]) -> FilesUsed | None:
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
        if value in _words(read_only_table.FIND_TEXT):
            continue
        if value not in _words(read_only_table.FIND_WITH_TEXT) | read_only_table.FIND_WITH_PATH:
            if not re.match(r"-(?:exec|ok|delete|fprint|fls|files0-from)", value):
                return None
            why = "executes commands or modifies files — cannot be auto-allowed by a Bash(find:*) prefix rule"
            return FilesUsed(objection=f"find with '{value}' {why}")
        if place >= len(words) or not words[place].is_plain:
            return None
        if value in read_only_table.FIND_WITH_PATH:
            reads.append(words[place])
        place += 1
    follows = any(word.value in read_only_table.FOLLOWING["find"] for word in words)
    return FilesUsed(reads=tuple(reads) or _HERE, follows=follows)


def _git(words: Sequence[Word]) -> FilesUsed | None:
    rest = list(words)
    while rest and rest[0].value in ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"):
        rest.pop(0)
    if not rest or not rest[0].is_plain or rest[0].value is None:
        return None
    subcommand, arguments = rest[0].value, rest[1:]
    if subcommand in read_only_table.GIT_WITH:
        return _git_with(subcommand, arguments)
    listed = _table(read_only_table.GIT_TEXT).get(subcommand)
    parsed = parse(arguments, known_options(listed[1])) if listed else None
    if listed is None or parsed is None or not are_known(arguments, known_options(listed[1])):
        return None
    if parsed.names and listed[0] == "bare" and not _is_listing(subcommand, parsed):
        return None
    names = parsed.names[1:] if subcommand == "grep" and "-e" not in parsed.options else parsed.names
    reads = [name for name in names if name.value is None or _is_pathlike(name.value)]
    # A glob could expand to an option.
    reads += [name for name in parsed.names if name.glob_at >= 0]
    return FilesUsed(reads=tuple(reads), is_git=True)


def _is_listing(subcommand: str, parsed: Arguments) -> bool:
    """Return whether a name is a search pattern, as in `branch --list x`."""
    if subcommand in ("branch", "tag"):
        return bool({"-l", "--list"} & parsed.options)
    return subcommand == "reflog" and parsed.names[0].value == "show"


def _is_pathlike(value: str) -> bool:
    """Return whether a word could leave the repository if git takes it for a path."""
    return value.startswith(("/", "~", ":")) or ".." in value.split("/")


def _git_with(subcommand: str, arguments: Sequence[Word]) -> FilesUsed | None:
    first = arguments[0].value if arguments else ""
    if first not in read_only_table.GIT_WITH[subcommand] or any(not word.is_plain for word in arguments):
        return None
    values = [word.value or "" for word in arguments[1:]]
    if any(value.startswith("-") for value in values) or any(_is_pathlike(value) for value in values):
        return None
    if subcommand == "remote" and first in ("-v", "--verbose", "") and values:
        return None
    return FilesUsed(is_git=True)


def _command(words: Sequence[Word]) -> FilesUsed | None:
    """Allow `command -v name`. Every other use runs the program, which `wrappers` handles."""
    known = len(words) > 1 and words[0].value in ("-v", "-V") and all(word.is_plain for word in words)
    return FilesUsed() if known else None


def _type(words: Sequence[Word]) -> FilesUsed | None:
    return FilesUsed() if all(word.is_plain for word in words) else None


_SPECIAL: Final = {
    "[": lambda words: _test(words[:-1]) if words and words[-1].value == "]" else None,
    "cd": _cd,
    "command": _command,
    "date": _date,
    "find": _find,
    "git": _git,
    "jq": _jq,
    "printf": _printf,
    "ps": _ps,
    "sed": _sed,
    "test": _test,
    "type": _type,
}
