"""The flags of `bridle-agent`: one table, and the parser for it.

A flag that is not implemented is either ignored (`IGNORED`: the run does what it would do without it) or refused
(`REFUSED`: without it the run would do something else than requested).
"""

from __future__ import annotations

from enum import Enum
from typing import NoReturn, TypeAlias

import msgspec

from bridle.errors import UsageError


class FlagArgument(Enum):
    """The argument of a flag."""

    NOTHING = "nothing"
    VALUE = "value"
    MAYBE = "maybe a value"
    LIST = "values up to the next flag"


class Handling(Enum):
    """How the parser handles a flag."""

    USED = "used"
    IGNORED = "ignored"
    REFUSED = "refused"


class Flag(msgspec.Struct, frozen=True):
    """One flag: its names, its argument, and whether it is used."""

    names: tuple[str, ...]
    takes: FlagArgument = FlagArgument.NOTHING
    handling: Handling = Handling.USED
    choices: tuple[str, ...] = ()
    repeats: bool = False
    """Whether all its values count; otherwise the last one does."""
    shown: str = ""
    """How error messages show it, with its argument."""

    @property
    def key(self) -> str:
        """The key of its value in `ParsedFlags`."""
        return self.names[-1].lstrip("-").replace("-", "_")


PERMISSION_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
OUTPUT_FORMATS = ("text", "json", "stream-json")
INPUT_FORMATS = ("text", "stream-json")

_V, _M, _L = FlagArgument.VALUE, FlagArgument.MAYBE, FlagArgument.LIST
_IGNORED, _REFUSED = Handling.IGNORED, Handling.REFUSED

FLAGS: tuple[Flag, ...] = (
    Flag(("-p", "--print")),
    Flag(("-v", "--version")),
    Flag(("-h", "--help")),
    Flag(("--verbose",)),
    Flag(("--output-format",), _V, choices=OUTPUT_FORMATS, shown="--output-format <format>"),
    Flag(("--input-format",), _V, choices=INPUT_FORMATS, shown="--input-format <format>"),
    Flag(("--include-partial-messages",)),
    Flag(("--replay-user-messages",)),
    Flag(("--include-hook-events",)),
    Flag(("--model",), _V, shown="--model <model>"),
    Flag(("--fallback-model",), _V, shown="--fallback-model <model>"),
    Flag(("--effort",), _V, shown="--effort <level>"),
    Flag(("--max-thinking-tokens",), _V),
    Flag(("--thinking",), _V, choices=("enabled", "adaptive", "disabled"), shown="--thinking <mode>"),
    Flag(("--thinking-display",), _V, choices=("summarized", "omitted"), shown="--thinking-display <display>"),
    Flag(("--task-budget",), _V, shown="--task-budget <tokens>"),
    Flag(("--betas",), _L, repeats=True),
    Flag(("--max-turns",), _V),
    Flag(("--max-budget-usd",), _V),
    Flag(("--json-schema",), _V, shown="--json-schema <schema>"),
    Flag(("--tools",), _L, repeats=True, shown="--tools <tools...>"),
    Flag(("--allowed-tools", "--allowedTools"), _L, repeats=True, shown="--allowedTools <tools...>"),
    Flag(("--disallowed-tools", "--disallowedTools"), _L, repeats=True, shown="--disallowedTools <tools...>"),
    Flag(("--permission-mode",), _V, choices=PERMISSION_MODES, shown="--permission-mode <mode>"),
    Flag(("--permission-prompt-tool",), _V),
    Flag(("--dangerously-skip-permissions",)),
    Flag(("--allow-dangerously-skip-permissions",)),
    Flag(("--add-dir",), _L, repeats=True),
    Flag(("--settings",), _V),
    Flag(("--setting-sources",), _V),
    Flag(("--system-prompt",), _V),
    Flag(("--system-prompt-file",), _V),
    Flag(("--append-system-prompt",), _V),
    Flag(("--append-system-prompt-file",), _V),
    Flag(("--exclude-dynamic-system-prompt-sections",)),
    Flag(("-c", "--continue")),
    Flag(("-r", "--resume"), _M),
    Flag(("--resume-session-at",), _V),
    Flag(("--fork-session",)),
    Flag(("--session-id",), _V),
    Flag(("--no-session-persistence",)),
    Flag(("--session-mirror",)),
    Flag(("-n", "--name"), _V),
    Flag(("--plugin-dir",), _V, repeats=True),
    Flag(("--agent",), _V),
    Flag(("--agents",), _V),
    Flag(("--disable-slash-commands",)),
    Flag(("--bare",)),
    Flag(("--safe-mode",)),
    Flag(("-d", "--debug"), _M),
    Flag(("--debug-file",), _V),
    Flag(("--mcp-config",), _L, repeats=True),
    Flag(("--strict-mcp-config",)),
    # The run does the same without these.
    Flag(("--ide",), handling=_IGNORED),
    Flag(("--chrome",), handling=_IGNORED),
    Flag(("--no-chrome",), handling=_IGNORED),
    Flag(("--ax-screen-reader",), handling=_IGNORED),
    Flag(("--brief",), handling=_IGNORED),
    Flag(("--prompt-suggestions",), _M, _IGNORED),
    Flag(("--mcp-debug",), handling=_IGNORED),
    # Without these the run would do something else than requested.
    Flag(("--bg", "--background"), handling=_REFUSED),
    Flag(("--file",), _L, _REFUSED),
    Flag(("--from-pr",), _M, _REFUSED),
    Flag(("--plugin-url",), _V, _REFUSED),
    Flag(("--remote-control",), _M, _REFUSED),
    Flag(("--remote-control-session-name-prefix",), _V, _REFUSED),
    Flag(("--resume-drops-turn",), _V, _REFUSED),
    Flag(("--tmux",), _M, _REFUSED),
    Flag(("-w", "--worktree"), _M, _REFUSED),
)

_BY_NAME = {name: flag for flag in FLAGS for name in flag.names}


FlagValue: TypeAlias = bool | str | tuple[str, ...]
"""True for a flag without its value, the value, or all values of a flag that repeats."""


class ParsedFlags(msgspec.Struct, frozen=True):
    """A parsed command line: values by flag, the prompt, and the ignored flags."""

    values: dict[str, FlagValue]
    prompt: str | None
    ignored: tuple[str, ...]

    def on(self, key: str) -> bool:
        """Return whether a flag was given."""
        return key in self.values

    def text(self, key: str) -> str | None:
        """Return the value of a flag, or None."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return the values of a flag that takes several, or None."""
        value = self.values.get(key)
        return value if isinstance(value, tuple) else None


def parse(arguments: list[str]) -> ParsedFlags:
    """Parse a command line. Raises UsageError."""
    values: dict[str, FlagValue] = {}
    prompts: list[str] = []
    ignored: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            prompts += rest
            break
        if not word.startswith("-") or word == "-":
            prompts.append(word)
            continue
        flag, value = _find(word, rest)
        argument = _take_argument(flag, value, rest)
        if flag.handling is _REFUSED:
            raise UsageError(f"error: {flag.names[-1]} is not supported by bridle-agent and cannot be ignored safely")
        if flag.handling is _IGNORED:
            ignored.append(flag.names[-1])
        _store(values, flag, argument)
    return ParsedFlags(values, prompts[0] if prompts else None, tuple(ignored))


def _find(word: str, rest: list[str]) -> tuple[Flag, str | None]:
    """Return the flag of a word, and the value inside the word (`--flag=value`, `-rID`)."""
    name, equals, value = word.partition("=")
    if word.startswith("--"):
        flag = _BY_NAME.get(name)
        if flag is None:
            _unknown(name)
        if equals and flag.takes is FlagArgument.NOTHING:
            raise UsageError(f"error: option '{name}' takes no value")
        return flag, value if equals else None
    flag = _BY_NAME.get(word[:2])
    if flag is None:
        _unknown(word[:2])
    if len(word) == 2:
        return flag, None
    if flag.takes is FlagArgument.NOTHING:
        rest.insert(0, "-" + word[2:])
        return flag, None
    return flag, word[2:]


def _take_argument(flag: Flag, value: str | None, rest: list[str]) -> FlagValue:
    match flag.takes:
        case FlagArgument.NOTHING:
            return True
        case FlagArgument.MAYBE:
            if value is None and rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            return True if value is None else value
        case FlagArgument.VALUE:
            return _checked_choice(flag, _required(flag, value, rest))
        case FlagArgument.LIST:
            values = [_required(flag, value, rest)]
            while rest and value is None and not rest[0].startswith("-"):
                values.append(rest.pop(0))
            return tuple(values)


def _required(flag: Flag, value: str | None, rest: list[str]) -> str:
    if value is not None:
        return value
    if not rest:
        raise UsageError(f"error: option '{flag.shown or flag.names[-1] + ' <value>'}' argument missing")
    return rest.pop(0)


def _checked_choice(flag: Flag, value: str) -> str:
    if flag.choices and value not in flag.choices:
        allowed = ", ".join(flag.choices)
        raise UsageError(f"error: option '{flag.shown}' argument '{value}' is invalid. Allowed choices are {allowed}.")
    return value


def _store(values: dict[str, FlagValue], flag: Flag, argument: FlagValue) -> None:
    if flag.repeats:
        earlier = values.get(flag.key, ())
        values[flag.key] = (*_as_tuple(earlier), *_as_tuple(argument))
    else:
        values[flag.key] = argument


def _as_tuple(value: FlagValue) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (str(value),)


def _unknown(name: str) -> NoReturn:
    from bridle.ground.suggest import did_you_mean  # late: for mistyped flags only

    hint = did_you_mean(name, _BY_NAME)
    raise UsageError(f"error: unknown option '{name}'" + (f"\n({hint})" if hint else ""))
