"""Commands that start in milliseconds: agents, hooks and status bars start them many times a minute.

Importing click takes longer than all that a hook does, so these commands are a table of arguments and options and a
function that receives them as text. The dispatcher, the help and the docs page treat them like click commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator

from bridle.errors import UsageError
from bridle.ground.light import quick_json
from bridle.wire.events.surrogates import replace_surrogates

HELP_WIDTH_COLUMNS = 100
END_OF_OPTIONS = "--"


class Option:
    """One option; without a `value` it is a flag."""

    __slots__ = ("help", "is_folder", "is_required", "name", "value")

    def __init__(
        self, name: str, help_text: str, *, value: str | None = None, is_required: bool = False, is_folder: bool = False
    ) -> None:
        self.name = name
        self.help = help_text
        self.value = value
        """The placeholder of its value in the help."""
        self.is_required = is_required
        self.is_folder = is_folder
        """Whether its value must be a folder that exists."""


class Arguments:
    """The arguments and options of one command line."""

    __slots__ = ("_options", "positional")

    def __init__(self, positional: tuple[str, ...], options: dict[str, str]) -> None:
        self.positional = positional
        self._options = options

    def has(self, name: str) -> bool:
        """Return whether the option is on the command line."""
        return name in self._options

    def text(self, name: str) -> str | None:
        """Return the value of an option, or None without it."""
        return self._options.get(name)

    def required(self, name: str) -> str:
        """Return the value of a required option."""
        return self._options[name]

    def number(self, name: str) -> int | None:
        """Return the value of an integer option, or None without it."""
        text = self._options.get(name)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit()):
            raise UsageError(f"{name} must be an integer of at least 0, got {text!r}")
        return int(text)


JSON = Option("--json", "Print one JSON document on stdout and nothing else.")
VERBOSE = Option("--verbose", "Print more; also needed to see tasks and results.")
RUNS_DIR = Option("--runs-dir", "Folder of the runs (default: $BABYSITTER_RUNS_DIR, else .a5c/runs).", value="DIR")
NO_HOOKS = Option("--no-hooks", "Run no native hooks, trusted or not.")
HOOKS_PLUGIN = Option("--plugin-root", "The folder of the plugin, whose hooks run too.", value="DIR", is_folder=True)
DRY_RUN = Option("--dry-run", "Print what would be done and do nothing.")
HELP_LETTER = "-h"
_HELP = Option("--help", "Show this message and exit.")


class LightCommand:
    """A command that needs no library to parse its command line."""

    def __init__(
        self,
        summary: str,
        run: Callable[[Arguments], int],
        *,
        arguments: tuple[str, ...] = (),
        options: tuple[Option, ...] = (),
        common_options: tuple[Option, ...] = (JSON, VERBOSE),
    ) -> None:
        self.summary = summary
        self.arguments = arguments
        """Their names, in brackets if they may be omitted."""
        self.options = {option.name: option for option in (*options, *common_options, _HELP)}
        self._run = run

    def invoke(self, name: str, argv: list[str]) -> int:
        """Run the command and return its exit code."""
        try:
            args = self._parse(argv)
        except UsageError as error:
            error.remedy = error.remedy or f"Run `bridle {name} --help` for usage."
            raise
        if args.has(_HELP.name):
            print(self.help(name))
            return 0
        return self._run(args)

    def help(self, name: str) -> str:
        usage = " ".join(["Usage: bridle", name, "[OPTIONS]", *self.arguments])
        width = max(len(_usage(option)) for option in self.options.values())
        lines = [line for option in self.options.values() for line in _help_lines(option, width)]
        return "\n".join([usage, "", f"  {self.summary}", "", "Options:", *lines])

    def _parse(self, argv: list[str]) -> Arguments:
        arguments: list[str] = []
        options: dict[str, str] = {}
        rest = iter(argv)
        for argument in rest:
            if argument == END_OF_OPTIONS:
                arguments.extend(rest)
            elif argument.startswith("--"):
                name, has_value, value = argument.partition("=")
                option = self._option(name)
                if option.value is None and has_value:
                    raise UsageError(f"{name} is a flag and takes no value")
                if option.value is not None and not has_value:
                    value = _next(rest, name)
                options[name] = value
            elif argument == HELP_LETTER:
                options[_HELP.name] = ""
            elif argument.startswith("-") and argument != "-":
                raise UsageError(f"unknown option {argument!r}")
            else:
                arguments.append(argument)
        if _HELP.name not in options:
            self._check(arguments, options)
        return Arguments(tuple(arguments), options)

    def _option(self, name: str) -> Option:
        option = self.options.get(name)
        if option is None:
            raise UsageError(f"unknown option {name!r}")
        return option

    def _check(self, arguments: list[str], options: dict[str, str]) -> None:
        required = [name for name in self.arguments if not name.startswith("[")]
        if len(arguments) < len(required):
            raise UsageError(f"{self.arguments[len(arguments)]} is missing")
        if len(arguments) > len(self.arguments):
            raise UsageError(f"{arguments[len(self.arguments)]!r} is an unexpected argument")
        for option in self.options.values():
            if option.is_required and not options.get(option.name):
                raise UsageError(f"{option.name} is missing")
            if option.is_folder and option.name in options and not os.path.isdir(options[option.name]):
                raise UsageError(f"{option.name} must be a folder, got {options[option.name]!r}")


def print_json(value: object, *, pretty: bool = False) -> None:
    """Print a document as UTF-8 in any locale, with U+FFFD for lone surrogates."""
    text = quick_json.readable(value, pretty=pretty)
    sys.stdout.flush()
    sys.stdout.buffer.write(replace_surrogates(text).encode() + b"\n")


def _next(rest: Iterator[str], name: str) -> str:
    value = next(rest, None)
    if value is None:
        raise UsageError(f"{name} needs a value")
    return value


def _usage(option: Option) -> str:
    if option is _HELP:
        return f"{HELP_LETTER}, {option.name}"
    return f"{option.name} {option.value}" if option.value is not None else option.name


def _help_lines(option: Option, width: int) -> list[str]:
    words = [*option.help.split(), *(["[required]"] if option.is_required else [])]
    lines = [f"  {_usage(option):<{width}} "]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > HELP_WIDTH_COLUMNS:
            lines.append(" " * (width + 3))
        lines[-1] += f" {word}"
    return lines
