"""The command line of the drop-in: one table of flags, both ways to write a value, and what each flag means to us.

A flag that is not built is either passed over (`PASSED`: nothing is done that would not be done without it) or refused
(`REFUSED`: going on would do something other than what was asked for).
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn

import msgspec

from bridle.errors import UsageError
from bridle.ground.suggest import did_you_mean


class Takes(Enum):
    """What follows a flag."""

    NOTHING = "nothing"
    VALUE = "value"
    MAYBE = "maybe a value"
    LIST = "values up to the next flag"


class Fate(Enum):
    """What we do with a flag."""

    USED = "used"
    PASSED = "passed over"
    REFUSED = "refused"


class Flag(msgspec.Struct, frozen=True):
    """One flag: its names, what follows it, and what becomes of it."""

    names: tuple[str, ...]
    takes: Takes = Takes.NOTHING
    fate: Fate = Fate.USED
    choices: tuple[str, ...] = ()
    repeats: bool = False
    """Whether its values add up; else the last one counts."""
    shown: str = ""
    """How a message names it, with its argument."""

    @property
    def key(self) -> str:
        """The name under which its value is kept."""
        return self.names[-1].lstrip("-").replace("-", "_")


PERMISSION_MODES = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")
OUTPUT_FORMATS = ("text", "json", "stream-json")
INPUT_FORMATS = ("text", "stream-json")

_V, _M, _L = Takes.VALUE, Takes.MAYBE, Takes.LIST
_PASSED, _REFUSED = Fate.PASSED, Fate.REFUSED

FLAGS: tuple[Flag, ...] = (
    Flag(("-p", "--print")),
    Flag(("-v", "--version")),
    Flag(("-h", "--help")),
    Flag(("--verbose",)),
    Flag(("--output-format",), _V, choices=OUTPUT_FORMATS, shown="--output-format <format>"),
    Flag(("--input-format",), _V, choices=INPUT_FORMATS, shown="--input-format <format>"),
    Flag(("--include-partial-messages",)),
    Flag(("--replay-user-messages",)),
    Flag(("--model",), _V, shown="--model <model>"),
    Flag(("--fallback-model",), _V, shown="--fallback-model <model>"),
    Flag(("--effort",), _V, shown="--effort <level>"),
    Flag(("--max-thinking-tokens",), _V),
    Flag(("--thinking",), _V, choices=("enabled", "adaptive", "disabled"), shown="--thinking <mode>"),
    Flag(("--betas",), _L, repeats=True),
    Flag(("--max-turns",), _V),
    Flag(("--max-budget-usd",), _V),
    Flag(("--json-schema",), _V, shown="--json-schema <schema>"),
    Flag(("--tools",), _L, repeats=True, shown="--tools <tools...>"),
    Flag(("--allowed-tools", "--allowedTools"), _L, repeats=True, shown="--allowedTools <tools...>"),
    Flag(("--disallowed-tools", "--disallowedTools"), _L, repeats=True, shown="--disallowedTools <tools...>"),
    Flag(("--permission-mode",), _V, choices=PERMISSION_MODES, shown="--permission-mode <mode>"),
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
    Flag(("-n", "--name"), _V),
    Flag(("--plugin-dir",), _V, repeats=True),
    Flag(("--disable-slash-commands",)),
    Flag(("--bare",)),
    Flag(("--safe-mode",)),
    Flag(("-d", "--debug"), _M),
    Flag(("--debug-file",), _V),
    Flag(("--mcp-config",), _L, repeats=True),
    Flag(("--strict-mcp-config",)),
    # Nothing more is done, and nothing less, than without these.
    Flag(("--permission-prompt-tool",), _V, _PASSED),  # who would be asked is not: the call is denied
    Flag(("--include-hook-events",), fate=_PASSED),
    Flag(("--agents",), _V, _PASSED),
    Flag(("--ide",), fate=_PASSED),
    Flag(("--chrome",), fate=_PASSED),
    Flag(("--no-chrome",), fate=_PASSED),
    Flag(("--ax-screen-reader",), fate=_PASSED),
    Flag(("--brief",), fate=_PASSED),
    Flag(("--prompt-suggestions",), _M, _PASSED),
    Flag(("--session-mirror",), fate=_PASSED),
    Flag(("--task-budget",), _V, _PASSED),
    Flag(("--thinking-display",), _V, _PASSED),
    Flag(("--mcp-debug",), fate=_PASSED),
    # Going on without these would do something else than what was asked for.
    Flag(("--agent",), _V, _REFUSED),
    Flag(("--bg", "--background"), fate=_REFUSED),
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


class Given(msgspec.Struct, frozen=True):
    """A command line, taken apart: values by flag, the prompt, and the flags that were passed over."""

    values: dict[str, Any]
    prompt: str | None
    passed_over: tuple[str, ...]

    def on(self, key: str) -> bool:
        """Whether a flag without a value is there."""
        return key in self.values

    def text(self, key: str) -> str | None:
        """The value of a flag; None where it is not there."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def texts(self, key: str) -> tuple[str, ...] | None:
        """The values of a flag that takes several; None where it is not there."""
        return self.values.get(key)


def parse(arguments: list[str]) -> Given:
    """Take a command line apart; UsageError says what is wrong with it."""
    values: dict[str, Any] = {}
    words: list[str] = []
    passed: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        flag, value = _find(word, rest)
        taken = _take(flag, value, rest)
        if flag.fate is _REFUSED:
            raise UsageError(f"error: {flag.names[-1]} is not part of bridle-agent, and cannot be left out safely")
        if flag.fate is _PASSED:
            passed.append(flag.names[-1])
        _keep(values, flag, taken)
    return Given(values, words[0] if words else None, tuple(passed))


def _find(word: str, rest: list[str]) -> tuple[Flag, str | None]:
    """The flag that a word names, and its value where the word holds it (`--flag=value`, `-rID`)."""
    name, equals, value = word.partition("=")
    if word.startswith("--"):
        flag = _BY_NAME.get(name)
        if flag is None:
            _unknown(name)
        if equals and flag.takes is Takes.NOTHING:
            raise UsageError(f"error: option '{name}' takes no value")
        return flag, value if equals else None
    flag = _BY_NAME.get(word[:2])
    if flag is None:
        _unknown(word[:2])
    if len(word) == 2:
        return flag, None
    if flag.takes is Takes.NOTHING:
        rest.insert(0, "-" + word[2:])
        return flag, None
    return flag, word[2:]


def _take(flag: Flag, value: str | None, rest: list[str]) -> Any:
    match flag.takes:
        case Takes.NOTHING:
            return True
        case Takes.MAYBE:
            if value is None and rest and not rest[0].startswith("-"):
                value = rest.pop(0)
            return True if value is None else value
        case Takes.VALUE:
            return _chosen(flag, _needed(flag, value, rest))
        case Takes.LIST:
            found = [_needed(flag, value, rest)]
            while rest and value is None and not rest[0].startswith("-"):
                found.append(rest.pop(0))
            return tuple(found)


def _needed(flag: Flag, value: str | None, rest: list[str]) -> str:
    if value is not None:
        return value
    if not rest:
        raise UsageError(f"error: option '{flag.shown or flag.names[-1] + ' <value>'}' argument missing")
    return rest.pop(0)


def _chosen(flag: Flag, value: str) -> str:
    if flag.choices and value not in flag.choices:
        allowed = ", ".join(flag.choices)
        raise UsageError(f"error: option '{flag.shown}' argument '{value}' is invalid. Allowed choices are {allowed}.")
    return value


def _keep(values: dict[str, Any], flag: Flag, taken: Any) -> None:
    if flag.repeats:
        more = taken if isinstance(taken, tuple) else (taken,)
        values[flag.key] = (*values.get(flag.key, ()), *more)
    else:
        values[flag.key] = taken


def _unknown(name: str) -> NoReturn:
    hint = did_you_mean(name, _BY_NAME)
    raise UsageError(f"error: unknown option '{name}'" + (f"\n({hint})" if hint else ""))
