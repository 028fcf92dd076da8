"""Commands that start in milliseconds: what agents and hooks call many times a minute.

A command's module has the name `command`. For people it is a click command; importing click takes longer than all
that a hook does, so for agents and hooks it is a `Light` one: a table of arguments and options, and a function that
gets them as text. The dispatcher, the help and the docs page treat both alike.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator

from bridle.errors import UsageError

HELP_WIDTH_COLUMNS = 100
END_OF_OPTIONS = "--"


class Option:
    """One option; without a `value` it is a flag."""

    __slots__ = ("help", "is_required", "name", "value")

    def __init__(self, name: str, help_text: str, *, value: str | None = None, is_required: bool = False) -> None:
        self.name = name
        self.help = help_text
        self.value = value
        """What stands for its value in the help."""
        self.is_required = is_required


class Given:
    """The arguments and options of one command line."""

    __slots__ = ("_options", "arguments")

    def __init__(self, arguments: tuple[str, ...], options: dict[str, str]) -> None:
        self.arguments = arguments
        self._options = options

    def has(self, name: str) -> bool:
        """Whether the option was given."""
        return name in self._options

    def text(self, name: str) -> str | None:
        """The value of an option; None when it was not given."""
        return self._options.get(name)

    def required(self, name: str) -> str:
        """The value of an option that must be given."""
        return self._options[name]

    def number(self, name: str) -> int | None:
        """The value of an option that counts something."""
        text = self._options.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{name} takes a whole number, not {text!r}")
        return int(text)


JSON = Option("--json", "Print one JSON document on stdout and nothing else.")
VERBOSE = Option("--verbose", "Say more; also needed to see tasks and results.")
RUNS_DIR = Option("--runs-dir", "Where runs are (default: $BABYSITTER_RUNS_DIR, else .a5c/runs).", value="DIR")
NO_HOOKS = Option("--no-hooks", "Run no native hooks, trusted or not.")
DRY_RUN = Option("--dry-run", "Say what would be done and do nothing.")
_HELP = Option("--help", "Show this message and exit.")


class Light:
    """A command that needs no library to read its command line."""

    def __init__(
        self,
        summary: str,
        run: Callable[[Given], int],
        *,
        arguments: tuple[str, ...] = (),
        options: tuple[Option, ...] = (),
    ) -> None:
        self.summary = summary
        self.arguments = arguments
        self.options = {option.name: option for option in (*options, JSON, VERBOSE, _HELP)}
        self._run = run

    def invoke(self, name: str, words: list[str]) -> int:
        """Run it with the words of a command line; gives the exit code."""
        try:
            given = self._parse(words)
        except UsageError as error:
            error.remedy = error.remedy or f"bridle {name} --help says more."
            raise
        if given.has(_HELP.name):
            print(self.help(name))
            return 0
        return self._run(given)

    def help(self, name: str) -> str:
        """The help text."""
        usage = " ".join(["Usage: bridle", name, "[OPTIONS]", *self.arguments])
        width = max(len(_shown(option)) for option in self.options.values())
        lines = [line for option in self.options.values() for line in _wrapped(option, width)]
        return "\n".join([usage, "", f"  {self.summary}", "", "Options:", *lines])

    def _parse(self, words: list[str]) -> Given:
        arguments: list[str] = []
        options: dict[str, str] = {}
        rest = iter(words)
        for word in rest:
            if word == END_OF_OPTIONS:
                arguments.extend(rest)
            elif word.startswith("--"):
                name, has_value, value = word.partition("=")
                option = self._option(name)
                if option.value is None and has_value:
                    raise UsageError(f"{name} is a flag and takes no value")
                if option.value is not None and not has_value:
                    value = _next(rest, name)
                options[name] = value
            elif word.startswith("-") and word != "-":
                raise UsageError(f"there is no option {word!r}")
            else:
                arguments.append(word)
        if _HELP.name not in options:
            self._check(arguments, options)
        return Given(tuple(arguments), options)

    def _option(self, name: str) -> Option:
        option = self.options.get(name)
        if option is None:
            raise UsageError(f"there is no option {name!r}")
        return option

    def _check(self, arguments: list[str], options: dict[str, str]) -> None:
        if len(arguments) < len(self.arguments):
            raise UsageError(f"{self.arguments[len(arguments)]} is missing")
        if len(arguments) > len(self.arguments):
            raise UsageError(f"{arguments[len(self.arguments)]!r} is one argument too many")
        for option in self.options.values():
            if option.is_required and not options.get(option.name):
                raise UsageError(f"{option.name} is missing")


def print_json(value: object, *, pretty: bool = False) -> None:
    """Print a document as UTF-8, whatever the terminal speaks; what UTF-8 cannot write is escaped."""
    separators = None if pretty else (",", ":")
    text = json.dumps(value, indent=2 if pretty else None, separators=separators, ensure_ascii=False)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = json.dumps(value, indent=2 if pretty else None, separators=separators).encode()
    sys.stdout.flush()
    sys.stdout.buffer.write(data + b"\n")


def _next(rest: Iterator[str], name: str) -> str:
    word = next(rest, None)
    if word is None:
        raise UsageError(f"{name} needs a value")
    return word


def _shown(option: Option) -> str:
    return f"{option.name} {option.value}" if option.value is not None else option.name


def _wrapped(option: Option, width: int) -> list[str]:
    words = [*option.help.split(), *(["[required]"] if option.is_required else [])]
    lines = [f"  {_shown(option):<{width}} "]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > HELP_WIDTH_COLUMNS:
            lines.append(" " * (width + 3))
        lines[-1] += f" {word}"
    return lines
