"""The files that a command changes, for the few programs that do so plainly."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from bridle.agent.permissions.bash import read_only_table
from bridle.agent.permissions.bash.command_options import Arguments, known_options, parse
from bridle.agent.permissions.bash.parsed_command import FilesUsed
from bridle.agent.permissions.bash.words import Word, plain

# Options of programs that otherwise only read, whose value is a file that is written.
_OUTPUT_OPTIONS: Final = {
    "curl": "-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --etag-save --libcurl"
    " --output-dir --hsts --alt-svc",
    "git": "--output --output-directory",
    "iconv": "-o --output",
    "less": "-o -O --log-file --LOG-FILE",
    "shuf": "-o --output",
    "sort": "-o --output",
    "tree": "-o",
    "xmllint": "--output",
}
# Words with which such a program writes to places that its arguments do not name, or runs a program.
_CODE_OF_AWK: Final = (
    r"(?s:.*(?:print[^}]*>|(?<!\|)\|(?!\|)|system|getline|@load).*)|-[ifEl].*|--(?:file|include|exec|load).*"
)
_OTHER_WRITES: Final = {
    "awk": _CODE_OF_AWK,
    "curl": r"-(?!-)\w*[OJK].*|--remote-.*|--config.*",
    "date": r"-(?!-)\w*s.*|--set.*",
    "eslint": r"--fix.*",
    "file": r"-(?!-)\w*C\w*|--compile",
    "gawk": _CODE_OF_AWK,
    "gofmt": r"--?w",
    "mawk": _CODE_OF_AWK,
    "prettier": r"-w|--write",
    "rg": r"--pre.*|--hostname-bin.*",
    "sort": r"--comp.*",
    "yq": r"-(?!-)\w*i\w*|--inplace.*",
}
# Programs whose second name is a file that is written.
_SECOND_IS_WRITTEN: Final = frozenset({"uniq", "xxd"})
_GIT_WITH_SHORT_OUTPUT: Final = frozenset({"archive", "format-patch"})
# The parts of a sed script that are patterns and texts, not commands.
_SED_TEXTS = re.compile(r"s([^\w\s\\])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1|/(?:[^/\\\n]|\\.)*/", re.DOTALL)
_SED_FILES_OR_PROGRAMS = re.compile(r"[wWrReF]")

_SED_PRINT = re.compile(r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?p)(?:;(?:\d+|\$)(?:,(?:\d+|\$))?p)*\Z")
_SED_REPLACE = re.compile(
    r"(?:(?:\d+|\$)(?:,(?:\d+|\$))?)?s([/|#,@:!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIip0-9]*\Z"
)


def files_changed(words: Sequence[Word]) -> FilesUsed | None:
    """Return the files that a command changes, or None if this is not known."""
    program, rest = words[0].value, words[1:]
    if program is None or not words[0].is_plain:
        return None
    if program == "sed":
        return _sed_change(rest)
    listed = _changers().get(program)
    if listed is None:
        return None
    arguments = parse(rest, known_options(listed[1]))
    if arguments is None:
        return FilesUsed(objection=f"{program} command with flags requires manual approval")
    if not arguments.names:
        return None
    return _change(program, arguments)


def written_by_options(program: str, rest: Sequence[Word], words: Sequence[Word]) -> FilesUsed | None:
    """Return what a reading program writes by the options in `rest`, a part of its arguments; None if nothing.

    With an objection it is not known which files.
    """
    values = [word.value or "" for word in rest]
    if program == "sed":
        return None if _only_prints(rest) else FilesUsed(objection="sed writes files")
    other = _OTHER_WRITES.get(program)
    if other is not None and any(re.fullmatch(other, value) for value in values):
        return FilesUsed(objection=f"{program} writes files or runs a program with these options")
    names = [word for word in rest if not (word.value or "-").startswith("-")]
    if program in _SECOND_IS_WRITTEN and len(names) > 1:
        return FilesUsed(writes=tuple(names[1:]))
    signs = _OUTPUT_OPTIONS.get(program, "").split()
    if program == "git" and _GIT_WITH_SHORT_OUTPUT & {word.value or "" for word in words}:
        signs.append("-o")
    written = tuple(_values_of(signs, rest))
    return FilesUsed(writes=written) if written else None


def _values_of(signs: Sequence[str], words: Sequence[Word]) -> Iterator[Word]:
    """Yield the values of some options, also of abbreviations and in a word with other options."""
    letters = "".join(sign[1] for sign in signs if not sign.startswith("--"))
    short = re.compile(rf"-(?!-)[^{letters}]*[{letters}](.*)", re.DOTALL) if letters else None
    for place, word in enumerate(words):
        value = word.value or ""
        name, sign, content = value.partition("=")
        following = words[place + 1] if place + 1 < len(words) else Word("", None)
        if name.startswith("--") and len(name) > 4 and any(each.startswith(name) for each in signs):
            yield plain(content) if sign else following
        elif short is not None and (found := short.fullmatch(value)):
            yield plain(found[1]) if found[1] else following


def _only_prints(words: Sequence[Word]) -> bool:
    """Return whether a sed command certainly neither writes, nor reads files that its arguments do not name."""
    arguments = parse(words, known_options("-n -E -r -s -u -z -e: --quiet --silent --expression= --regexp-extended"))
    if arguments is None:
        return False
    scripts = _sed_scripts(words, arguments)
    return bool(scripts) and not any(_SED_FILES_OR_PROGRAMS.search(_SED_TEXTS.sub("", text)) for text in scripts)


def _change(program: str, arguments: Arguments) -> FilesUsed | None:
    names = arguments.names
    if program in ("rm", "rmdir"):
        return FilesUsed(removes=names)
    if program in ("cp", "mv"):
        if len(names) < 2:
            return None
        return _transfer(program, names[:-1], names[-1])
    return FilesUsed(reads=arguments.paths, writes=names)


def _transfer(program: str, sources: Sequence[Word], target: Word) -> FilesUsed | None:
    """Return the files of a copy or move: the target, and names below it if it is a folder or a link to one."""
    if not target.is_plain or any(not source.is_plain for source in sources):
        return None
    below = [plain(f"{target.value}/{(source.value or '').rstrip('/').rpartition('/')[2]}") for source in sources]
    if program == "cp":
        return FilesUsed(reads=tuple(sources), writes=(target, *below))
    return FilesUsed(removes=tuple(sources), writes=(target, *below))


def _sed_change(words: Sequence[Word]) -> FilesUsed | None:
    values = [word.value for word in words]
    in_place = [value for value in values if value and re.fullmatch(r"-i(?:\.\w+)?", value)]
    rest = [word for word in words if word.value not in in_place]
    arguments = parse(rest, known_options("-n -E -r -s -e: --quiet --silent --expression= --regexp-extended"))
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
    return FilesUsed(writes=names) if in_place else FilesUsed(reads=names)


def _sed_scripts(words: Sequence[Word], arguments: Arguments) -> list[str]:
    if not {"-e", "--expression"} & arguments.options:
        first = arguments.names[0] if arguments.names else None
        return [first.value] if first is not None and first.is_plain and first.value else []
    values = [word.value or "" for word in words]
    if any(re.fullmatch(r"-\w+e.*|-e.+|--expression=.*", value, re.DOTALL) for value in values):
        return []  # only the plain spelling `-e SCRIPT` is supported
    return [values[place + 1] for place, value in enumerate(values[:-1]) if value in ("-e", "--expression")]


@lru_cache(maxsize=1)
def _changers() -> dict[str, tuple[str, str]]:
    return read_only_table.entries(read_only_table.CHANGERS_TEXT)
