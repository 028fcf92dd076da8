"""The files that a command changes, for the few programs that do so plainly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from bridle.agent.permissions.bash import read_only_table
from bridle.agent.permissions.bash.command_options import Arguments, known_options, parse
from bridle.agent.permissions.bash.parsed_command import FilesUsed
from bridle.agent.permissions.bash.words import Word, plain

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
