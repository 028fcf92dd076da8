"""What the value of a directive says: commands, titles, patterns. Pure; what cannot be meant is a ValueError."""

from __future__ import annotations

import re

from bridle.loop.text.path_patterns import checked_pattern

# Far above any command that a person writes on a line, and short enough for every pattern below.
VALUE_LIMIT_CHARACTERS = 4_000

_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BETWEEN = re.compile(r"(?:[\s,;.]|\band\b)*")
# Marks that turn the direction of writing: what is shown is then not what runs.
_TURNED = re.compile("[\u202a-\u202e\u2066-\u2069]")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")


def commands(value: str) -> list[str]:
    """The shell lines: one as it stands, or those in backticks, with nothing but commas or `and` between them."""
    _refuse_long(value)
    found = _in_backticks(value) if "`" in value else [value]
    return [_command(one) for one in found]


def titles(value: str) -> str:
    """A list of titles without the marks around them; what is a title is decided by those who know the titles."""
    _refuse_long(value)
    return _LINK.sub(r"\1", value)


def patterns(value: str) -> list[str]:
    """The patterns of files, separated by commas."""
    _refuse_long(value)
    found: list[str] = []
    wrong: list[str] = []
    for one in _split_outside_braces(value):
        pattern = one.strip().strip("`").strip()
        try:
            found += [checked_pattern(pattern)] if pattern else []
        except ValueError as error:
            wrong.append(str(error))
    if wrong:
        raise ValueError("; ".join(wrong))
    return found


def _in_backticks(value: str) -> list[str]:
    if not value.strip("` "):
        raise ValueError("the command is empty")
    found = [match[2] for match in _SPAN.finditer(value)]
    rest = _SPAN.sub(" ", value)
    if not found or not _BETWEEN.fullmatch(rest):
        raise ValueError(
            "words and backticks are mixed here; write the command alone (and $(…) where the shell is to run one in it)"
        )
    return found


def _command(text: str) -> str:
    """One shell line without the prompt and the quotes that people copy along."""
    command = text.strip()
    if command.startswith("$ "):
        command = command[2:].lstrip()
    quote = command[:1]
    if len(command) > 2 and quote in ("'", '"') and command.endswith(quote) and " " in command:
        inner = command[1:-1]
        command = command if quote in inner or "\\" in inner else inner.strip()
    if not command:
        raise ValueError("the command is empty")
    if _TURNED.search(command):
        raise ValueError("the command holds marks that turn the direction of writing; it would not run as it is shown")
    return command


def _split_outside_braces(value: str) -> list[str]:
    """At the commas; one in braces belongs to a pattern."""
    parts, depth = [""], 0
    for character in value:
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _refuse_long(value: str) -> None:
    if len(value) > VALUE_LIMIT_CHARACTERS:
        raise ValueError(f"this is longer than {VALUE_LIMIT_CHARACTERS} characters")
