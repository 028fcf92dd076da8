"""Values of directives: commands, titles and patterns. Pure; an invalid value is a ValueError."""

from __future__ import annotations

import re

from bridle.loop.text.path_patterns import checked_pattern

# Far longer than any command on one line, and short enough for every regular expression below.
VALUE_LIMIT_CHARACTERS = 4_000

_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_BETWEEN = re.compile(r"(?:[\s,;.]|\band\b)*")
# Bidirectional control characters: the command shown would not be the one that runs.
_BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069]")
# Quotes that editors make of straight ones.
_TYPOGRAPHIC = tuple("“”„‟‘’‚‛«»")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")


def commands(value: str) -> list[str]:
    """Return the shell commands: the whole value, or those in backticks, separated by commas or `and`."""
    _refuse_long(value)
    texts = _in_backticks(value) if "`" in value else [value]
    return [_command(text) for text in texts]


def titles(value: str) -> str:
    """Return the value of `Needs:` without links; `Titles.find` then finds the titles in it."""
    _refuse_long(value)
    return _LINK.sub(r"\1", value)


def patterns(value: str) -> list[str]:
    """Return the path patterns, separated by commas."""
    _refuse_long(value)
    valid: list[str] = []
    problems: list[str] = []
    for part in _split_outside_braces(value):
        pattern = part.strip().strip("`").strip()
        try:
            valid += [checked_pattern(pattern)] if pattern else []
        except ValueError as error:
            problems.append(f"a pattern must be inside the repository, {error}")
    if problems:
        raise ValueError("; ".join(problems))
    return valid


def _in_backticks(value: str) -> list[str]:
    if not value.strip("` "):
        raise ValueError("the command is empty")
    spans = [match[2] for match in _SPAN.finditer(value)]
    rest = _SPAN.sub(" ", value)
    if not spans or not _BETWEEN.fullmatch(rest):
        raise ValueError("text and backticks are mixed. Write only the command, with $(…) for a command inside it.")
    return spans


def _command(text: str) -> str:
    """Return one shell command without a copied prompt (`$ `) or surrounding quotes."""
    command = text.strip()
    if command.startswith("$ "):
        command = command[2:].lstrip()
    quote = command[:1]
    if len(command) > 2 and quote in ("'", '"') and command.endswith(quote) and " " in command:
        inner = command[1:-1]
        command = command if quote in inner or "\\" in inner else inner.strip()
    if command[:1] in _TYPOGRAPHIC and command[-1:] in _TYPOGRAPHIC:
        raise ValueError(f"the command is in typographic quotes, which a shell does not know. Write: `{command[1:-1]}`")
    if not command:
        raise ValueError("the command is empty")
    if _BIDIRECTIONAL.search(command):
        raise ValueError("the command has bidirectional control characters, so it would not run as it is shown")
    return command


def _split_outside_braces(value: str) -> list[str]:
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
        raise ValueError(f"the value must be at most {VALUE_LIMIT_CHARACTERS} characters, got {len(value)}")
